/// A program with managed memory, told step by step, and what is found of it.
#pragma once

#include "found.hpp"
#include "managed_scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

namespace umadvisor::test::managed_program {

using Kind = trace::ManagedEventKind;

inline constexpr auto before = trace::SampleMoment::before_launch;
inline constexpr auto after = trace::SampleMoment::after_synchronize;

/// What a look at the host's pages found beside their number.
struct Look {
    std::uint64_t content = 0, lone_line = 0;
    trace::Regularity regularity{};
};

struct Bare : test::Managed {
    explicit Bare(bool runtime) {
        if (!runtime)
            builder = test::TraceBuilder();
    }
};

/// What a Program has unless it says otherwise.
inline constexpr std::uint64_t whole = 64 * mib;

/// A program with one managed allocation, as looks and its own calls tell of it. A step takes ten milliseconds.
struct Program : Bare {
    explicit Program(std::uint64_t size = whole, bool runtime = true)
        : Bare(runtime), bytes(size), id(managed(size, line)) {}

    std::uint64_t line = stack(), launched = stack(), prefetched = stack(), touched = stack();
    std::uint64_t kernel = function("_Z5scalePfi");
    std::uint64_t bytes, id;
    std::uint64_t digest = 0;   ///< device memory behind it among the kernel's parameters
    std::uint64_t variable = 0; ///< managed, of the kernel's module

    /// The kernel is another one.
    Program& runs(std::string_view symbol) {
        kernel = function(symbol);
        return *this;
    }
    Program& add_variable() {
        variable = allocate(4096, Memory::managed, {.id = 900, .variable = text("answer")});
        return *this;
    }
    Program& add_digest() {
        digest = allocate(4, Memory::device);
        return *this;
    }
    Program& look(std::uint64_t host_bytes, trace::SampleMoment moment, const Look& look = {}) {
        trace::Residency record{.start = now,
                                .duration = 500,
                                .allocation = trace::AllocationId{id},
                                .moment = moment,
                                .pages = std::max<std::uint64_t>(1, bytes / 4096),
                                .host_pages =
                                    host_bytes == 0 ? 0 : std::max<std::uint64_t>(1, host_bytes / 4096),
                                .content = look.content,
                                .lone_line = look.lone_line,
                                .regularity = look.regularity};
        builder.add(record);
        now += 10 * ms;
        return *this;
    }
    Program& filled(const Look& found = {}) { return look(bytes, before, found); }
    using Scenario::launch;
    Program& launch(std::uint64_t sample = 0) {
        launch(kernel, {id}, sample, launched);
        return *this;
    }
    Program& launches(int count) {
        for (int i = 0; i < count; ++i)
            launch();
        return *this;
    }
    Program& wait(std::uint64_t duration = ms) {
        synchronize({.duration = duration});
        now += 10 * ms;
        return *this;
    }
    /// A launch, and the device's time for it.
    Program& timed_launch(std::uint64_t sample, std::uint64_t nanoseconds) {
        launch(sample).wait();
        device_time(sample, nanoseconds);
        return *this;
    }
    /// A kernel has used all of it, and the program has waited.
    Program& round(std::uint64_t sample = 0) {
        if (digest != 0)
            launch(kernel, {id, digest, variable}, sample, launched);
        else if (variable != 0)
            launch(kernel, {id, variable}, sample, launched);
        else
            launch(sample);
        return wait().look(0, after);
    }
    Program& rounds(int count) {
        for (int i = 0; i < count; ++i)
            round();
        return *this;
    }
    /// The host takes `came` back, again and again.
    Program& bounce(int rounds, std::uint64_t came = whole, std::uint64_t content = 0, std::uint64_t change = 0,
                    std::uint64_t lone_line = 0) {
        look(0, before).round();
        for (int i = 0; i < rounds; ++i, content += change)
            look(came, before, {.content = content, .lone_line = lone_line}).round();
        return *this;
    }
    Program& to_device(std::uint64_t length = 0) { return prefetch(trace::Location::device, length); }
    Program& to_host() { return prefetch(trace::Location::host); }
    Program& advise(std::uint64_t advice, trace::Location location, std::uint64_t stack = 0) {
        trace::Advise record{.allocation = trace::AllocationId{id}, .advice = advice, .location = location};
        record.stack = stack;
        call(record, "cuMemAdvise_v2");
        return *this;
    }
    /// SetPreferredLocation
    Program& prefer_host(std::uint64_t stack = 0) { return advise(3, trace::Location::host, stack); }
    Program& host_fault() {
        fault(Kind::host_fault, address_of(id), 0, touched);
        now += ms;
        return *this;
    }
    Program& thrash(std::uint64_t times) {
        tell(std::uint64_t{1} << static_cast<int>(Kind::thrashing));
        for (std::uint64_t i = 0; i < times; ++i) {
            event(trace::ManagedEvent{.kind = Kind::thrashing, .address = address_of(id), .bytes = 4096});
            now += ms / 10;
        }
        return *this;
    }

private:
    Program& prefetch(trace::Location location, std::uint64_t length = 0) {
        Scenario::prefetch(id, length == 0 ? bytes : length, location, {.stack = prefetched});
        now += 7 * us;
        return *this;
    }
};

/// "UMA-202 UMA-205", in the order of the ids.
inline std::string ids_of(Scenario& scenario) {
    Found found = findings_of(scenario);
    std::ranges::sort(found, {}, [](const Finding& finding) { return finding.rule->id; });
    return rules_of(found);
}

inline constexpr double up_by_faults = 23e6 / 256, down_by_faults = 29e6 / 256;     // ns a MiB
inline constexpr double written_by_faults = 11.3e6 / 64, first_write = 6.8e6 / 64;  // the same
inline constexpr double up_by_prefetch = mib / 51.0, down_by_prefetch = mib / 24.0; // the same
inline const auto about = boost::test_tools::tolerance(0.03);

} // namespace umadvisor::test::managed_program
