/// Which prefetches continue the one before them, so that they can be made as one.
#pragma once

#include <algorithm>
#include <cstdint>

namespace umadvisor::policy {

/// A prefetch of the program's, which is to be compared with the one before it.
struct PrefetchCall {
    std::uint64_t thread;     ///< of the program, by any number
    std::uint64_t allocation; ///< id
    std::uint64_t address, bytes;
    std::uint64_t stream; ///< handle
    int device;           ///< CU_DEVICE_CPU: the host

    std::uint64_t end() const noexcept { return address + bytes; }
};

/// The latest prefetches that the driver has made, and those behind them that it is yet to make. All are of one
/// thread, allocation, stream and place, and each begins where the one before it ends.
class PrefetchRun {
public:
    /// Calls that the driver makes before one is deferred. After a run that was hardly worth it, twice as many.
    static constexpr std::uint32_t least_patience = 2, most_patience = 256;
    static constexpr std::uint32_t worth_it = 4; ///< deferred calls, made as one
    /// The device is not to wait for more: it takes longer to move this than to make a call.
    static constexpr std::uint64_t most_bytes = 16u << 20;

    /// The driver has made the call. It is not of the run if calls of the run are deferred: their thread would
    /// have had them made first.
    void made(const PrefetchCall& call) noexcept {
        if (!is_empty())
            return;
        length_ = continues(call) ? std::min(length_ + 1, most_patience) : 1;
        last_ = call;
        confirmed_ = true;
    }

    /// Whether the call may be deferred: it continues the run, and the driver has made one call of the run
    /// since others were made as one.
    bool may_defer(const PrefetchCall& call) const noexcept {
        return confirmed_ && continues(call) && length_ >= patience_ && call.bytes <= most_bytes - bytes_;
    }
    /// Whether none was deferred since the driver has made one.
    bool is_empty() const noexcept { return count_ == 0; }

    /// The call is deferred.
    void defer(const PrefetchCall& call) noexcept {
        bytes_ += call.bytes;
        ++count_;
        last_ = call;
    }

    /// What is deferred, as one call. `bytes` is 0 if nothing is. The next call of the run is the driver's.
    PrefetchCall take() noexcept {
        PrefetchCall all = last_;
        all.address = last_.end() - bytes_;
        all.bytes = bytes_;
        if (count_ != 0)
            patience_ = count_ < worth_it ? std::min(patience_ * 2, most_patience) : least_patience;
        bytes_ = 0;
        count_ = 0;
        confirmed_ = false;
        return all;
    }

private:
    bool continues(const PrefetchCall& call) const noexcept {
        return length_ != 0 && call.thread == last_.thread && call.allocation == last_.allocation &&
               call.address == last_.end() && call.stream == last_.stream && call.device == last_.device;
    }

    PrefetchCall last_{};
    std::uint64_t bytes_ = 0;  ///< deferred
    std::uint32_t count_ = 0;  ///< deferred
    std::uint32_t length_ = 0; ///< calls that the driver has made; 0: there was none
    std::uint32_t patience_ = least_patience;
    bool confirmed_ = false;
};

} // namespace umadvisor::policy
