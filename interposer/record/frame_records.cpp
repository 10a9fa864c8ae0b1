#include "interposer/record/frame_records.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::record {
namespace {

/// What the frame pointer points to, on aarch64 and on x86-64.
struct FrameRecord {
    std::uintptr_t caller; ///< its record; 0: none
    std::uintptr_t return_address;
};

constexpr std::uintptr_t page_bytes = 4096; ///< or a part of one

/// Without its signature, if it has one.
std::uintptr_t plain(std::uintptr_t return_address) noexcept {
#if defined(__aarch64__)
    register std::uintptr_t link asm("x30") = return_address;
    asm("hint 7" : "+r"(link)); // XPACLRI; does nothing on cores without signatures
    return link;
#else
    return return_address;
#endif
}

/// The program's words as they are: red zones and shadow are no concern here.
[[gnu::no_sanitize("address", "thread")]] FrameRecord read(std::uintptr_t at) noexcept {
    const auto* const words = reinterpret_cast<const volatile std::uintptr_t*>(at);
    return {words[0], words[1]};
}

} // namespace

/// rt_sigprocmask(2) reads the set before it refuses what is to be done with it. A null pointer is no
/// set, which succeeds without a read.
bool can_be_read(std::uintptr_t address) noexcept {
    constexpr int nothing_known = -1;
    constexpr std::size_t set_bytes = 8;
    return address != 0 &&
           (syscall(SYS_rt_sigprocmask, nothing_known, address, nullptr, set_bytes) == 0 || errno != EFAULT);
}

int walk_frame_records(void** found, int capacity) noexcept {
    const int error = errno;
    auto at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::uintptr_t readable = at / page_bytes;
    int count = 0;
    while (count < capacity) {
        if (at / page_bytes != readable && !can_be_read(at))
            break;
        readable = at / page_bytes;
        const FrameRecord record = read(at);
        if (record.return_address == 0)
            break;
        found[count++] = reinterpret_cast<void*>(plain(record.return_address));
        // The stack grows down. A record is aligned as the stack is, so it lies in one page.
        if (record.caller <= at || record.caller % (2 * sizeof(std::uintptr_t)) != 0)
            break;
        at = record.caller;
    }
    errno = error;
    return count;
}

} // namespace umadvisor::record
