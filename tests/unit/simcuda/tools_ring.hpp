#pragma once

#include "residency/tools_interface.hpp"
#include "tests/unit/simcuda/runtime_library.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace simcuda {

namespace tools = umadvisor::residency::tools;

inline int tools_device(int tracker, unsigned long command, void* parameters) {
    return driver_symbol<decltype(simcuda_uvm_tools)>("simcuda_uvm_tools")(tracker, command, parameters);
}

/// A tracker with its memory, closed at the end. Answers status of what it asks for.
class TrackerOwner {
public:
    ~TrackerOwner() {
        if (number > 0)
            tools_device(number, 0, nullptr);
    }
    std::uint32_t open(void* ring, std::uint64_t entries, void* control, bool all = true) {
        tools::InitTracker wanted{.ring = reinterpret_cast<std::uint64_t>(ring),
                                  .entries = entries,
                                  .control = reinterpret_cast<std::uint64_t>(control),
                                  .all_processors = all};
        number = tools_device(-1, tools::InitTracker::command, &wanted);
        return wanted.status;
    }
    std::uint32_t turn(unsigned long command, std::uint64_t flags) const {
        tools::Switch parameters{flags, 77, 0};
        BOOST_TEST(tools_device(number, command, &parameters) == 0);
        return parameters.status;
    }
    int number = 0;
};

/// A ring of so many entries that wants the events of `flags`.
class Ring : public TrackerOwner {
public:
    explicit Ring(std::uint64_t flags, std::size_t entries = 1 << 16)
        : entries_(static_cast<tools::Entry*>(std::aligned_alloc(4096, pages(entries * sizeof(tools::Entry))))),
          control(static_cast<tools::Control*>(std::aligned_alloc(4096, 4096))),
          size_(entries) {
        std::memset(control, 0, sizeof *control);
        BOOST_REQUIRE(open(entries_, entries, control) == 0u);
        BOOST_REQUIRE(turn(tools::Switch::enable_events, flags) == 0u);
    }
    ~Ring() {
        tools_device(std::exchange(number, 0), 0, nullptr);
        std::free(entries_);
        std::free(control);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Takes all entries out; those of the type.
    template <class Event>
    std::vector<Event> take(tools::EventType type) {
        std::vector<Event> taken;
        while (control->get_behind != __atomic_load_n(&control->put_behind, __ATOMIC_ACQUIRE)) {
            const tools::Entry& entry = entries_[control->get_behind];
            if (entry.bytes[0] == static_cast<std::uint8_t>(type))
                std::memcpy(&taken.emplace_back(), entry.bytes, sizeof(Event));
            control->get_ahead = (control->get_behind + 1) % size_;
            __atomic_store_n(&control->get_behind, control->get_ahead, __ATOMIC_RELEASE);
        }
        return taken;
    }
    std::size_t waiting() const { return (size_ + control->put_behind - control->get_behind) % size_; }

private:
    static std::size_t pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

    tools::Entry* entries_;

public:
    tools::Control* control;

private:
    std::size_t size_;
};

/// The counters, all of them on.
class Counting : public TrackerOwner {
public:
    Counting() {
        std::memset(values, 0, sizeof values);
        BOOST_REQUIRE(open(nullptr, 0, values) == 0u);
        BOOST_REQUIRE(turn(tools::Switch::enable_counters, ~0ull) == 0u);
    }
    alignas(4096) std::uint64_t values[512];
};

} // namespace simcuda
