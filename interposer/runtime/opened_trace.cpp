#include "interposer/runtime/opened_trace.hpp"

#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/run_list.hpp"
#include "interposer/runtime/trace_path.hpp"

#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

constexpr int most_names = 100; ///< tried one after the other

char path[4200];
char directory[4096];   ///< to which `path` is relative
bool run_knows = false; ///< `umadvisor run` has the trace's path
int last_number = 0;    ///< of the names that were tried

/// Whether another trace, of this run or of an earlier one, has the name.
bool is_in_use(const char* name) {
    struct stat file;
    return !options().force && lstat(name, &file) == 0 && S_ISREG(file.st_mode);
}

record::Settings settings(trace::PauseCause cause, const char* why) {
    record::Settings settings{};
    settings.path = path;
    settings.force = options().force;
    settings.max_bytes = options().max_bytes;
    settings.cause = cause;
    settings.why = why;
    settings.ring_bytes = options().ring.bytes;
    settings.ring_ns = options().ring.ns;
    return settings;
}

bool report(trace::RunEntryKind kind, const char* text) {
    return report_to_run(kind, *path == '/' ? "" : directory, text);
}

bool is_read_as_it_is(const char* word) {
    return std::strpbrk(word, " \t\n|&;<>()$`\\\"*?[]{}#~!") == nullptr;
}

} // namespace

void remember_directory() noexcept {
    if (getcwd(directory, sizeof directory) == nullptr)
        directory[0] = '\0';
}

/// The file's creation decides which name is free: workers that were forked together choose at the same time.
bool open_first_trace() noexcept {
    const bool ring = options().ring.any();
    const char* trouble = nullptr;
    for (int tries = 0; tries < most_names; ++tries) {
        if (!trace_path(path, sizeof path, ++last_number)) {
            say("the trace's name is too long; nothing is recorded");
            report(trace::RunEntryKind::trouble, "the trace's name is too long");
            return false;
        }
        trouble = record::open(settings(ring ? trace::PauseCause::ring : trace::PauseCause::start, ""));
        if (trouble == nullptr) {
            run_knows = report(trace::RunEntryKind::trace, path);
            return true;
        }
        if (!is_in_use(path))
            break;
    }
    say("cannot write %s: %s; nothing is recorded (UMADVISOR_OUTPUT names another place)", path, trouble);
    static char why[sizeof path + 256]; // static, since threads may have small stacks
    std::snprintf(why, sizeof why, "%s: %s", path, trouble);
    report(trace::RunEntryKind::trouble, why);
    return false;
}

bool next_free_path(char* to, std::size_t bytes) noexcept {
    static char name[4096]; // static, since threads may have small stacks
    struct stat file;
    for (int tries = 0; tries < most_names; ++tries) {
        if (!trace_path(name, sizeof name, ++last_number))
            return false;
        const bool whole = *name == '/' || *directory == '\0';
        const int length = std::snprintf(to, bytes, "%s%s%s", whole ? "" : directory, whole ? "" : "/", name);
        if (length >= static_cast<int>(bytes))
            return false;
        if (lstat(to, &file) != 0)
            return true;
    }
    return false;
}

const char* open_next_trace(const char* output, trace::PauseCause cause, const char* why) noexcept {
    const char* trouble = "no name for the trace is free";
    for (int tries = 0; tries < most_names; ++tries) {
        if (*output != '\0')
            std::snprintf(path, sizeof path, "%s", output);
        else if (!next_free_path(path, sizeof path))
            break;
        trouble = record::open(settings(cause, why));
        if (trouble == nullptr) {
            run_knows = report(trace::RunEntryKind::trace, path);
            return nullptr;
        }
        if (*output != '\0' || !is_in_use(path))
            break;
    }
    return trouble;
}

void say_where_trace_is() noexcept {
    struct stat here;
    const bool elsewhere = *path != '/' && *directory != '\0' && lstat(path, &here) != 0;
    const char* const from = elsewhere ? directory : "";
    const char* const slash = elsewhere ? "/" : "";
    if (run_knows) // it lists the traces of all its processes
        return;
    // A shell reads it back, unless it has an apostrophe of its own.
    const char* const quote = is_read_as_it_is(from) && is_read_as_it_is(path) ? "" : "'";
    say("wrote %s%s%s; read it with: umadvisor report %s%s%s%s%s", from, slash, path, quote, from, slash, path,
        quote);
}

} // namespace umadvisor::runtime
