#include "interposer/runtime/message.hpp"

#include "interposer/record/confined.hpp"
#include "interposer/record/file_limit.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/plain_text.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

/// The file that stderr was when the program started. A descriptor of our own would keep a pipe open that the
/// program has closed, and another file that the program has opened as number 2 must not get our lines.
struct stat stderr_at_start;
bool had_stderr = false;

} // namespace

void remember_stderr() noexcept {
    had_stderr = fstat(STDERR_FILENO, &stderr_at_start) == 0;
}

void say(const char* format, ...) noexcept {
    const int kept = errno;
    struct stat now;
    if (!options().quiet && had_stderr && record::has_thread_pages() && !record::is_confined() &&
        fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_at_start.st_dev &&
        now.st_ino == stderr_at_start.st_ino) {
        struct Line {
            char text[1024] = "umadvisor: ";
        };
        const record::OffStack<Line> buffer;
        char* const line = buffer->text;
        constexpr std::size_t prefix = 11;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line + prefix, sizeof(Line) - prefix - 1, format, arguments);
        va_end(arguments);
        // The text has names and paths, and messages of the driver.
        std::size_t length =
            prefix + trace::make_plain(line + prefix, std::strlen(line + prefix), trace::Plain::line);
        line[length++] = '\n';
        // One write, so that lines of several processes do not mix. A failure cannot be reported anywhere.
        record::write_within_limit(STDERR_FILENO, line, length);
    }
    errno = kept;
}

} // namespace umadvisor::runtime
