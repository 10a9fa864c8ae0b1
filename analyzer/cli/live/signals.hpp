/// Signals as something that is waited for.
#pragma once

#include <csignal>
#include <initializer_list>

namespace umadvisor::cli {

/// While this lives, these signals end nothing: they make descriptor() readable. What came is forgotten at the
/// end.
class Signals {
public:
    explicit Signals(std::initializer_list<int> signals);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int descriptor() const { return descriptor_; }
    /// The first that came; 0: none.
    int take();

private:
    sigset_t before_{};
    int descriptor_;
};

} // namespace umadvisor::cli
