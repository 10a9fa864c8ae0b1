#include "interposer/record/lock_check.hpp"

#ifdef UMADVISOR_CHECK_LOCKS

#include "trace/write_or_drop.hpp"

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace umadvisor::record::detail {

void end_under_lock(const char* callee) noexcept {
    const auto say = [](const char* text) { trace::write_or_drop(STDERR_FILENO, 0, text, std::strlen(text)); };
    say("umadvisor: ");
    say(callee);
    say(" is waited for under a lock of ours\n");
    raise(SIGABRT); // abort(3) may not be in the shim, whatever the build
    __builtin_trap();
}

} // namespace umadvisor::record::detail

#endif
