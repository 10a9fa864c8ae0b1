/// A device with an otherwise idle context, and what is needed to time it.
#pragma once

#include "analyzer/machine/device_calls.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace umadvisor::machine {

/// Takes the device's primary context, current on the thread. Throws reader::Error where a call fails.
class Bench {
public:
    static constexpr int rounds = 5;

    explicit Bench(int ordinal);
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    const Driver& driver() const { return cuda_; }
    int device() const { return device_; }
    Handle context() const { return context_; }
    std::string device_name() const;

    void wait() const { check(cuda_.synchronize(), "cuCtxSynchronize"); }

    /// Nanoseconds between two events around `act`, on a device that was idle.
    template <class Act>
    double time(const Act& act) {
        wait();
        check(cuda_.record_event(from_, nullptr), "cuEventRecord");
        act();
        check(cuda_.record_event(to_, nullptr), "cuEventRecord");
        check(cuda_.wait_event(to_), "cuEventSynchronize");
        float milliseconds = 0;
        check(cuda_.elapsed(&milliseconds, from_, to_), "cuEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e6;
    }
    /// Median of what `act` takes after `prepare`, less what the events take.
    template <class Prepare, class Act>
    double typical(const Prepare& prepare, const Act& act) {
        std::array<double, rounds> taken{};
        prepare();
        act(); // the first time loads code and maps memory
        for (double& each : taken) {
            prepare();
            each = time(act);
        }
        return std::max(1.0, median(taken) - floor_);
    }
    template <class Act>
    double typical(const Act& act) {
        return typical([] {}, act);
    }
    /// Of calls that cost the thread that makes them, whatever the device has to do: median, in nanoseconds.
    template <class Act>
    double host_time(const Act& act) {
        using Clock = std::chrono::steady_clock;
        std::array<double, rounds> taken{};
        for (double& each : taken) {
            wait();
            const Clock::time_point begin = Clock::now();
            act();
            each = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
        }
        return median(taken);
    }

private:
    static double median(std::array<double, rounds> values) {
        std::ranges::sort(values);
        return values[rounds / 2];
    }

    Driver cuda_;
    int device_ = 0;
    Handle context_ = nullptr, from_ = nullptr, to_ = nullptr;
    double floor_ = 0; ///< of two events with nothing between
};

} // namespace umadvisor::machine
