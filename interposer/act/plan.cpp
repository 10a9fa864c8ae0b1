#include "interposer/act/plan.hpp"

#include "interposer/act/prefetch.hpp"
#include "interposer/base/pages.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::act {

namespace {

constexpr std::size_t most_plan_bytes = 4 << 20;

constinit policy::Plan followed;

/// Nullptr, or why the file cannot be read: a static text.
const char* read_file(const char* path, char* to, std::size_t& bytes) noexcept {
    // O_NONBLOCK: opening a FIFO without a writer must not block the program.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return "cannot be opened";
    struct stat status;
    if (fstat(file, &status) != 0 ||
        !S_ISREG(status.st_mode)) { // reading a device or a FIFO may have side effects
        close(file);
        return "is no regular file";
    }
    bytes = 0;
    ssize_t count = 0;
    while (bytes < most_plan_bytes &&
           ((count = ::read(file, to + bytes, most_plan_bytes - bytes)) > 0 || (count < 0 && errno == EINTR)))
        bytes += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    close(file);
    return count < 0 ? "cannot be read" : bytes == most_plan_bytes ? "is too large" : nullptr;
}

const char* read_followed(const char* path) noexcept {
    auto* const text = static_cast<char*>(base::map_pages(most_plan_bytes));
    if (text == nullptr)
        return "finds no memory";
    std::size_t bytes = 0;
    const char* trouble = read_file(path, text, bytes);
    if (trouble == nullptr)
        trouble = policy::read_plan({text, bytes}, followed);
    base::unmap_pages(text, most_plan_bytes);
    return trouble;
}

/// The trace gets the modes, so that the next plan has them, too.
void define_modes(std::string_view modes) noexcept {
    trace::Option record;
    record.option = "PLAN";
    record.value = modes;
    record::define(record);
}

void sort_sites(policy::Plan::Sites& sites) noexcept {
    std::sort(sites.keys, sites.keys + sites.count);
}

} // namespace

runtime::Options with_plan(runtime::Options options) noexcept {
    if (options.act_plan[0] == '\0')
        return options;
    if (const char* const trouble = read_followed(options.act_plan)) {
        followed.return_count = followed.mode_count = 0;
        for (policy::Plan::Sites& each : followed.never_sites)
            each.count = 0;
        followed.stage_bytes = 0;
        announce("--act plan=%s %s; the program runs without it", options.act_plan, trouble);
        return options;
    }
    bool twice[trace::act_mode_count]; // by the user: the plan and the user are not the same one asking twice
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        twice[i] = options.act[i].twice;
    char accepted[policy::Plan::most_modes * (policy::Plan::longest_mode + 1)];
    std::size_t length = 0;
    for (std::size_t i = 0; i < followed.mode_count; ++i) {
        const std::string_view mode = followed.modes[i];
        // A plan names no other plan. An unknown mode is one of a later version, and of a mode that the user
        // asked for in another form, the user's form holds.
        if (mode.starts_with("plan=") || !runtime::parse_actions(mode, options))
            continue;
        if (length != 0)
            accepted[length++] = ',';
        std::memcpy(accepted + length, mode.data(), mode.size());
        length += mode.size();
    }
    for (std::size_t i = 0; i < trace::act_mode_count; ++i)
        options.act[i].twice = twice[i];
    define_modes({accepted, length});
    for (policy::Plan::Sites& each : followed.never_sites)
        sort_sites(each);
    const record::Guard guard(knowledge.mutex);
    for (std::size_t i = 0; i < followed.return_count; ++i)
        knowledge.host_returns.expect(followed.returns[i].key, followed.returns[i].first,
                                      followed.returns[i].last);
    return options;
}

bool plan_leaves(trace::ActMode mode, std::uint64_t stack) noexcept {
    const policy::Plan::Sites& all = followed.never(mode);
    return all.count != 0 && std::binary_search(all.keys, all.keys + all.count, record::stack_key(stack));
}

std::uint64_t planned_stage_bytes() noexcept {
    return followed.stage_bytes;
}

} // namespace umadvisor::act
