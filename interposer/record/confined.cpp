#include "interposer/record/confined.hpp"

#include "interposer/base/small_file.hpp"
#include "interposer/base/text.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

#include <cerrno>
#include <charconv>
#include <string_view>

namespace umadvisor::record {
namespace {

/// As in proc_pid_status(5): of a kernel before 5.9 the mode alone is known.
struct Filters {
    int mode = 0, count = 0;
};
constinit Filters at_start{};
constinit bool remembered = false;
constinit bool harmless_at_start = false; ///< there was no filter, or that of the container
constinit thread_local bool found_confined = false;

int number_behind(std::string_view text, std::string_view field) noexcept {
    const std::size_t at = text.find(field);
    int number = 0;
    if (at != text.npos) {
        const std::string_view rest = base::after(text, at + field.size());
        std::from_chars(rest.data(), rest.data() + rest.size(), number);
    }
    return number;
}

/// False if the file cannot be read; errno says why. Each thread has filters of its own.
bool read_filters(Filters& filters, const char* path = "/proc/thread-self/status") noexcept {
    // The line of groups stands before those of filters: 12 KiB have room for a thousand groups.
    const OffStack<base::SmallFile<12 * 1024>> status;
    errno = 0;
    if (!status->read(path) || status->view().find("\nSeccomp:\t") == std::string_view::npos)
        return false;
    filters.mode = number_behind(status->view(), "\nSeccomp:\t");
    filters.count = number_behind(status->view(), "\nSeccomp_filters:\t");
    return true;
}

} // namespace

void remember_filters() noexcept {
    const Quiet quiet;
    remembered = read_filters(at_start);
    Filters first;
    harmless_at_start =
        remembered && (at_start.mode == 0 || (at_start.count > 0 && read_filters(first, "/proc/1/status") &&
                                              first.mode == at_start.mode && first.count == at_start.count));
}

bool is_confined() noexcept {
    if (found_confined || !remembered)
        return found_confined;
    const Quiet quiet;
    Filters now;
    // Without /proc (chroot(2)) or a free descriptor the file cannot be read either, and no filter is the
    // reason.
    found_confined = read_filters(now) ? now.mode > at_start.mode || now.count > at_start.count
                                       : errno == EPERM || errno == EACCES || errno == ENOSYS;
    return found_confined;
}

bool may_read_in_one_call() noexcept {
    if (found_confined || !harmless_at_start)
        return false;
    const Quiet quiet;
    Filters now;
    return read_filters(now) && now.mode == at_start.mode && now.count == at_start.count;
}

} // namespace umadvisor::record
