/// The ready times from which a run can be replayed: one for each stream, event and engine.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/timeline/times.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace umadvisor::timeline {

/// A time and how fast it grows with the one unknown of a fit.
struct Growing {
    double at = 0, slope = 0;
    friend Growing operator+(Growing a, Growing b) { return {a.at + b.at, a.slope + b.slope}; }
    friend Growing later(Growing a, Growing b) { return a.at < b.at ? b : a; }
};

/// `Time` is double, Growing or Times. Every constraint that may bind is a term of a maximum, so that an edit
/// that lifts one leaves the others in force. Memory: one time a stream, event and engine.
template <class Time>
class State {
public:
    /// Makes room for what is kept of the stream, event and device of `call`. Each of them wants that before it
    /// is handed to any other function.
    void prepare(const facts::Call& call) {
        make_room(streams_, call.stream.number);
        make_room(events_, call.event);
        make_room(devices_, call.stream.device);
    }

    /// When work that `call` queues can begin, given when the device learned of it.
    Time ready(const facts::Call& call, const Time& told) const {
        const facts::StreamPlace& stream = call.stream;
        const Device& device = devices_[stream.device];
        Time time = later(told, streams_[stream.number]);
        if (call.event != 0) // the graph's launch before
            time = later(time, events_[call.event]);
        if (stream.legacy)
            time = later(time, device.blocking);
        else if (stream.blocking)
            time = later(time, device.legacy);
        if (call.engine != facts::Engine::none)
            time = later(time, device.engines[static_cast<std::size_t>(call.engine)]);
        return time;
    }

    /// The work of `call` ends at `end`; an end before all others changes nothing.
    void queue(const facts::Call& call, const Time& end) {
        order(call.stream, end);
        if (call.event != 0) {
            Time& event = events_[call.event];
            event = later(event, end);
        }
        Device& device = devices_[call.stream.device];
        device.all = later(device.all, end);
        if (call.engine != facts::Engine::none) {
            Time& engine = device.engines[static_cast<std::size_t>(call.engine)];
            engine = later(engine, end);
        }
    }

    /// An event that is recorded in the legacy default stream stands for the blocking streams, too. The device
    /// learns of it as of work.
    void record(const facts::Call& call, const Time& told) {
        events_[call.event] = later(told, end_of_stream(call.stream));
    }
    Time& event(std::uint32_t number) { return events_[number]; }
    void join(const facts::Call& call, const Time& event) { order(call.stream, event); }

    /// When the work that `call` waits for is done; not for calls that wait for themselves.
    Time awaited(const facts::Call& call) const {
        switch (call.waits) {
        case facts::Waits::stream:
            return end_of_stream(call.stream);
        case facts::Waits::event:
            return events_[call.event];
        case facts::Waits::device:
            return devices_[call.stream.device].all;
        default:
            return Time{};
        }
    }

    /// When all that was queued so far is done.
    Time end() const {
        Time last{};
        for (const Device& device : devices_)
            last = later(last, device.all);
        return last;
    }

    /// What `call` waited for had ended by `end`.
    void limit(const facts::Call& call, const Time& end) {
        const auto lower = [&end](Time& time) { time = earlier(time, end); };
        if (call.waits == facts::Waits::event)
            lower(events_[call.event]);
        Device& device = devices_[call.stream.device];
        if (call.waits == facts::Waits::device) {
            std::ranges::for_each(streams_, lower);
            lower(device.all);
            lower(device.blocking);
        } else {
            lower(streams_[call.stream.number]);
        }
        lower(device.legacy);
        std::ranges::for_each(device.engines, lower);
    }

    /// Takes over what `other` knows of the stream, event and device of `call`.
    template <class Other>
    void take(const State<Other>& other, const facts::Call& call) {
        streams_[call.stream.number] = Time{other.streams_[call.stream.number]};
        events_[call.event] = Time{other.events_[call.event]};
        Device& device = devices_[call.stream.device];
        const auto& from = other.devices_[call.stream.device];
        device.legacy = Time{from.legacy};
        device.blocking = Time{from.blocking};
        device.all = Time{from.all};
        for (std::size_t engine = 0; engine < facts::engines; ++engine)
            device.engines[engine] = Time{from.engines[engine]};
    }

    /// Calls `visit` with each time that `other` keeps, and its own time of the same thing before it. Stops and
    /// returns false where that returns false.
    template <class Other, class Visit>
    bool visit_with(const State<Other>& other, const Visit& visit) {
        streams_.resize(std::max(streams_.size(), other.streams_.size()));
        events_.resize(std::max(events_.size(), other.events_.size()));
        devices_.resize(std::max(devices_.size(), other.devices_.size()));
        const auto each = [&visit](auto& own, const auto& others) {
            for (std::size_t i = 0; i < others.size(); ++i)
                if (!visit(own[i], others[i]))
                    return false;
            return true;
        };
        for (std::size_t i = 0; i < other.devices_.size(); ++i) {
            Device& own = devices_[i];
            const auto& theirs = other.devices_[i];
            if (!visit(own.legacy, theirs.legacy) || !visit(own.blocking, theirs.blocking) ||
                !visit(own.all, theirs.all) || !each(own.engines, theirs.engines))
                return false;
        }
        return each(streams_, other.streams_) && each(events_, other.events_);
    }
    std::size_t size() const { return streams_.size() + events_.size() + devices_.size(); }

private:
    template <class>
    friend class State;

    struct Device {
        Time legacy{}, blocking{}, all{};
        std::array<Time, facts::engines> engines{};
    };

    Time end_of_stream(const facts::StreamPlace& stream) const {
        const Time own = streams_[stream.number];
        if (!stream.legacy)
            return own;
        const Device& device = devices_[stream.device];
        return later(own, later(device.legacy, device.blocking));
    }
    /// What `stream` is given next begins no earlier than `time`.
    void order(const facts::StreamPlace& stream, const Time& time) {
        Time& end = streams_[stream.number];
        end = later(end, time);
        Device& device = devices_[stream.device];
        if (stream.legacy)
            device.legacy = later(device.legacy, time);
        else if (stream.blocking)
            device.blocking = later(device.blocking, time);
    }

    template <class Slots>
    static void make_room(Slots& slots, std::uint32_t number) {
        if (number >= slots.size())
            slots.resize(std::size_t{number} + 1);
    }

    std::vector<Time> streams_, events_;
    std::vector<Device> devices_;
};

} // namespace umadvisor::timeline
