#include "analyzer/cli/live/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace umadvisor::cli {

Signals::Signals(std::initializer_list<int> signals) {
    sigset_t awaited;
    ::sigemptyset(&awaited);
    for (const int signal : signals)
        ::sigaddset(&awaited, signal);
    ::pthread_sigmask(SIG_BLOCK, &awaited, &before_);
    descriptor_ = ::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
    while (take() != 0) {
    }
    ::close(descriptor_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() {
    signalfd_siginfo came{};
    return ::read(descriptor_, &came, sizeof came) == sizeof came ? static_cast<int>(came.ssi_signo) : 0;
}

} // namespace umadvisor::cli
