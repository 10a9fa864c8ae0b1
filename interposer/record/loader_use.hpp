/// Keeps fork(2) and uses of the loader's lock apart: in a child that is forked while another thread of its
/// parent holds that lock, it is never released, and the first dlopen(3) hangs.
#pragma once

namespace umadvisor::record {

/// While it lives and is true, this thread may lock the loader. False: a fork takes too long.
class LoaderUse {
public:
    LoaderUse() noexcept : allowed_(begin()) {}
    ~LoaderUse() {
        if (allowed_)
            end();
    }
    LoaderUse(const LoaderUse&) = delete;
    LoaderUse& operator=(const LoaderUse&) = delete;
    explicit operator bool() const noexcept { return allowed_; }

private:
    static bool begin() noexcept;
    static void end() noexcept;

    bool allowed_;
};

// Handlers for pthread_atfork(3). All waits are bounded: a thread that forks from a callback of its own
// dl_iterate_phdr(3) holds the lock that it would wait for.
void wait_for_loader_users() noexcept;
void let_loader_users_in() noexcept;
void forget_loader_users() noexcept; ///< in the child, which has none

} // namespace umadvisor::record
