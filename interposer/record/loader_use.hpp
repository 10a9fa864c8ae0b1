/// Keeps fork(2) and what takes the loader's lock apart: a child that is forked while another thread of its
/// parent holds that lock finds it taken for good, and hangs in its first dlopen(3).
#pragma once

namespace umadvisor::record {

/// While it lives and is true, this thread may take the loader's lock. False: a fork is taking its time.
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

// Handlers for pthread_atfork(3). All waits have an end: who forks from a callback of its own
// dl_iterate_phdr(3) holds what is waited for.
void wait_for_loader_users() noexcept;
void let_loader_users_in() noexcept;
void forget_loader_users() noexcept; ///< in the child, which has none

} // namespace umadvisor::record
