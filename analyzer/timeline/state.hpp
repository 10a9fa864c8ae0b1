/// The ready times from which a run can be replayed: one for each stream, event and engine.
#pragma once

#include "analyzer/facts/call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace umadvisor::timeline {

/// A time and how fast it grows with the one unknown of a fit.
struct Growing {
    double at = 0, slope = 0;
    friend Growing operator+(Growing a, Growing b) { return {a.at + b.at, a.slope + b.slope}; }
    friend bool operator<(Growing a, Growing b) { return a.at < b.at; }
};

/// `Time` is double or Growing. Every constraint that may bind is a term of a maximum, so that an edit that
/// lifts one leaves the others in force. Memory: one time a stream, event and engine.
template <class Time>
class State {
public:
    /// When work that `call` queues can begin, given when the device has been told of it.
    Time ready(const facts::Call& call, Time told) const {
        const facts::StreamPlace& stream = call.stream;
        Time time = std::max(told, value(streams_, stream.number));
        if (call.event != 0) // the graph's launch before
            time = std::max(time, value(events_, call.event));
        if (stream.device < devices_.size()) {
            const Device& device = devices_[stream.device];
            if (stream.legacy)
                time = std::max(time, device.blocking);
            else if (stream.blocking)
                time = std::max(time, device.legacy);
            if (call.engine != facts::Engine::none)
                time = std::max(time, device.engines[static_cast<std::size_t>(call.engine)]);
        }
        return time;
    }

    /// The work of `call` ends at `end`.
    void queue(const facts::Call& call, Time end) {
        const facts::StreamPlace& stream = call.stream;
        slot(streams_, stream.number) = end;
        if (call.event != 0)
            slot(events_, call.event) = end;
        Device& device = slot(devices_, stream.device);
        device.all = std::max(device.all, end);
        if (stream.legacy)
            device.legacy = std::max(device.legacy, end);
        else if (stream.blocking)
            device.blocking = std::max(device.blocking, end);
        if (call.engine != facts::Engine::none)
            device.engines[static_cast<std::size_t>(call.engine)] = end;
    }

    /// An event that is recorded in the legacy default stream stands for the blocking streams, too. The device
    /// is told of it like of work.
    void record(const facts::Call& call, Time told) {
        slot(events_, call.event) = std::max(told, end_of_stream(call.stream));
    }
    void join(const facts::Call& call) {
        if (const Time event = value(events_, call.event); value(streams_, call.stream.number) < event)
            queue_order(call.stream, event);
    }

    /// When that is done for which `call` waits; not for calls that wait for themselves.
    Time awaited(const facts::Call& call) const {
        switch (call.waits) {
        case facts::Waits::stream:
            return end_of_stream(call.stream);
        case facts::Waits::event:
            return value(events_, call.event);
        case facts::Waits::device:
            return call.stream.device < devices_.size() ? devices_[call.stream.device].all : Time{};
        default:
            return Time{};
        }
    }

    /// When all that was queued so far is done.
    Time end() const {
        Time last{};
        for (const Device& device : devices_)
            last = std::max(last, device.all);
        return last;
    }

    /// What `call` waited for had ended by `end`.
    void limit(const facts::Call& call, Time end) {
        const auto lower = [end](Time& time) { time = std::min(time, end); };
        if (call.waits == facts::Waits::event)
            lower(slot(events_, call.event));
        Device& device = slot(devices_, call.stream.device);
        if (call.waits == facts::Waits::device) {
            std::ranges::for_each(streams_, lower);
            lower(device.all);
            lower(device.blocking);
        } else {
            lower(slot(streams_, call.stream.number));
        }
        lower(device.legacy);
        std::ranges::for_each(device.engines, lower);
    }

    /// Takes over what `other` knows of the stream, event and device of `call`.
    template <class Other>
    void take(const State<Other>& other, const facts::Call& call) {
        slot(streams_, call.stream.number) = Time{State<Other>::value(other.streams_, call.stream.number)};
        slot(events_, call.event) = Time{State<Other>::value(other.events_, call.event)};
        Device& device = slot(devices_, call.stream.device);
        device = {};
        if (call.stream.device >= other.devices_.size())
            return;
        const auto& from = other.devices_[call.stream.device];
        device.legacy = Time{from.legacy};
        device.blocking = Time{from.blocking};
        device.all = Time{from.all};
        for (std::size_t engine = 0; engine < facts::engines; ++engine)
            device.engines[engine] = Time{from.engines[engine]};
    }

private:
    template <class>
    friend class State;

    struct Device {
        Time legacy{}, blocking{}, all{};
        std::array<Time, facts::engines> engines{};
    };

    Time end_of_stream(const facts::StreamPlace& stream) const {
        const Time own = value(streams_, stream.number);
        if (!stream.legacy || stream.device >= devices_.size())
            return own;
        return std::max({own, devices_[stream.device].legacy, devices_[stream.device].blocking});
    }
    /// What `stream` is given next begins no earlier than `time`.
    void queue_order(const facts::StreamPlace& stream, Time time) {
        slot(streams_, stream.number) = time;
        Device& device = slot(devices_, stream.device);
        if (stream.legacy)
            device.legacy = std::max(device.legacy, time);
        else if (stream.blocking)
            device.blocking = std::max(device.blocking, time);
    }

    template <class Slots>
    static typename Slots::value_type& slot(Slots& slots, std::uint32_t number) {
        if (number >= slots.size())
            slots.resize(number + 1);
        return slots[number];
    }
    static Time value(const std::vector<Time>& slots, std::uint32_t number) {
        return number < slots.size() ? slots[number] : Time{};
    }

    std::vector<Time> streams_, events_;
    std::vector<Device> devices_;
};

} // namespace umadvisor::timeline
