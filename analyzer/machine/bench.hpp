/// A device with an otherwise idle context, and what is needed to time it.
#pragma once

#include "analyzer/machine/device_calls.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace umadvisor::machine {

/// The first device of that name. Throws reader::Error where there is none.
int ordinal_of(const std::string& name);

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
    /// The same of several, in turn, so that all of them meet the machine in the same state.
    struct Way {
        std::function<void()> prepare, act;
    };
    template <std::size_t count>
    std::array<double, count> typical_in_turn(const std::array<Way, count>& ways) {
        std::array<std::array<double, rounds>, count> taken{};
        for (const Way& way : ways) {
            way.prepare();
            way.act();
        }
        for (int round = 0; round < rounds; ++round)
            for (std::size_t i = 0; i < count; ++i) {
                ways[i].prepare();
                taken[i][round] = time(ways[i].act);
            }
        std::array<double, count> medians{};
        for (std::size_t i = 0; i < count; ++i)
            medians[i] = std::max(1.0, median(taken[i]) - floor_);
        return medians;
    }
    /// Mean time of `act` on a machine that was idle for a while. Calls that come now and then may differ by a
    /// factor of ten, so that their mean is their cost.
    template <class Prepare, class Act>
    double mean_now_and_then(const Prepare& prepare, const Act& act) {
        constexpr int times = 16;
        constexpr std::chrono::milliseconds pause{2};
        double sum = 0;
        for (int i = 0; i < times; ++i) {
            prepare();
            std::this_thread::sleep_for(pause);
            sum += time(act);
        }
        return std::max(1.0, sum / times - floor_);
    }
    /// Of calls that cost the thread that makes them, whatever the device has to do: median, in nanoseconds.
    template <class Prepare, class Act>
    double host_time(const Prepare& prepare, const Act& act) {
        using Clock = std::chrono::steady_clock;
        std::array<double, rounds> taken{};
        for (double& each : taken) {
            wait();
            prepare();
            const Clock::time_point begin = Clock::now();
            act();
            each = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
        }
        return median(taken);
    }
    template <class Act>
    double host_time(const Act& act) {
        return host_time([] {}, act);
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
