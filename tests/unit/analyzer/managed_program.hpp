/// A program with managed memory, told step by step, and what is found of it.
#pragma once

#include "found.hpp"
#include "managed_scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

namespace umadvisor::test::managed_program {

using findings::Confidence;
using findings::Finding;
using test::evidence;
using trace::Memory;
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

/// A program with one managed allocation, as looks and its own calls tell of it. A step takes ten milliseconds.
struct Program : Bare {
    explicit Program(std::uint64_t size = 64 * mib, bool runtime = true)
        : Bare(runtime), bytes(size), id(managed(size, line)) {}

    std::uint64_t line = stack(), launched = stack(), prefetched = stack(), touched = stack();
    std::uint64_t kernel = function("_Z5scalePfi");
    std::uint64_t bytes, id;
    std::uint64_t digest = 0;   ///< device memory behind it among the kernel's parameters
    std::uint64_t variable = 0; ///< managed, of the kernel's module

    void add_variable() {
        builder.add(trace::String{77, "answer"});
        trace::Alloc record;
        record.start = now;
        record.allocation = variable = 900;
        record.address = test::address_of(variable);
        record.bytes = 4096;
        record.memory = trace::Memory::managed;
        record.symbol = 77;
        builder.add(record);
    }
    void look(std::uint64_t host_bytes, trace::SampleMoment moment, const Look& look = {}) {
        trace::Residency record;
        record.start = now;
        record.duration = 500;
        record.allocation = id;
        record.moment = moment;
        record.pages = bytes / 4096;
        record.host_pages = host_bytes / 4096;
        record.content = look.content;
        record.lone_line = look.lone_line;
        record.regularity = look.regularity;
        builder.add(record);
        now += 10 * ms;
    }
    void filled(const Look& found = {}) { look(bytes, before, found); }
    void wait(std::uint64_t duration = ms) {
        synchronize({.duration = duration});
        now += 10 * ms;
    }
    /// A kernel has used all of it, and the program has waited.
    void round(std::uint64_t sample = 0) {
        if (digest != 0)
            launch(kernel, {id, digest, variable}, sample, launched);
        else if (variable != 0)
            launch(kernel, {id, variable}, sample, launched);
        else
            launch(kernel, {id}, sample, launched);
        wait();
        look(0, after);
    }
    /// The host takes `came` back, again and again.
    void bounce(int rounds, std::uint64_t came, std::uint64_t content = 0, std::uint64_t change = 0,
                std::uint64_t lone_line = 0) {
        look(0, before);
        round();
        for (int i = 0; i < rounds; ++i, content += change) {
            look(came, before, {.content = content, .lone_line = lone_line});
            round();
        }
    }
    void prefetch(bool to_host, std::uint64_t length = 0) {
        trace::Prefetch record;
        record.entry = entry("cuMemPrefetchAsync_v2");
        record.start = now;
        record.duration = 2000;
        record.stack = prefetched;
        record.address = test::address_of(id);
        record.bytes = length == 0 ? bytes : length;
        record.allocation = id;
        record.location = to_host ? trace::Location::host : trace::Location::device;
        builder.add(record);
        now += 10'000;
    }
    void to_device(std::uint64_t length = 0) { prefetch(false, length); }
    void to_host() { prefetch(true); }
    void advise(std::uint64_t advice, trace::Location location) {
        trace::Advise record;
        record.entry = entry("cuMemAdvise_v2");
        record.start = now;
        record.allocation = id;
        record.advice = advice;
        record.location = location;
        builder.add(record);
    }
    void thrash(std::uint64_t times) {
        tell(std::uint64_t{1} << static_cast<int>(Kind::thrashing));
        for (std::uint64_t i = 0; i < times; ++i) {
            trace::ManagedEvent record;
            record.kind = Kind::thrashing;
            record.address = test::address_of(id);
            record.bytes = 4096;
            event(record);
            now += ms / 10;
        }
    }
};

/// "UMA-202 UMA-205", in the order of the ids.
inline std::string ids_of(test::Scenario& scenario) {
    std::vector<std::string> ids = test::rules_of(test::findings_of(scenario));
    std::ranges::sort(ids);
    std::string text;
    for (const std::string& id : ids)
        text += (text.empty() ? "" : " ") + id;
    return text;
}

inline Finding only_finding(test::Scenario& scenario, const machine::Rates& rates = {}) {
    const auto found = test::findings_of(scenario, rates);
    BOOST_REQUIRE(found.size() == 1u);
    return found.front();
}

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// What `behave` makes of a program whose memory has so many bytes.
template <class Behave>
std::string ids(const Behave& behave, std::uint64_t bytes = 64 * mib) {
    Program program(bytes);
    behave(program);
    return ids_of(program);
}

inline constexpr double up_by_faults = 23e6 / 256, down_by_faults = 29e6 / 256;     // ns a MiB
inline constexpr double written_by_faults = 11.3e6 / 64, first_write = 6.8e6 / 64;  // the same
inline constexpr double up_by_prefetch = mib / 51.0, down_by_prefetch = mib / 24.0; // the same
inline const auto about = boost::test_tools::tolerance(0.03);

} // namespace umadvisor::test::managed_program
