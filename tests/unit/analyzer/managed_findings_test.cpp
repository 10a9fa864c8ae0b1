#include "analyzer/findings/finding.hpp"
#include "managed_scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_managed_findings)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::mib;
using test::ms;
using trace::Memory;
using Kind = trace::ManagedEventKind;

namespace {

constexpr auto before = trace::SampleMoment::before_launch;
constexpr auto after = trace::SampleMoment::after_synchronize;

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
    void wait() {
        synchronize();
        now += 10 * ms;
    }
    /// A kernel has used all of it, and the program has waited.
    void round(std::uint64_t sample = 0) {
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

std::vector<Finding> findings_of(test::Scenario& scenario) {
    reader::Trace trace(scenario.path());
    const model::Profile profile(trace);
    return findings::find_all(profile, [](std::uint64_t stack) { return stack; });
}

/// "UMA-202 UMA-205", in the order of the ids.
std::string ids_of(test::Scenario& scenario) {
    std::vector<std::string> ids;
    for (const Finding& finding : findings_of(scenario))
        ids.emplace_back(finding.rule->id);
    std::ranges::sort(ids);
    std::string text;
    for (const std::string& id : ids)
        text += (text.empty() ? "" : " ") + id;
    return text;
}

Finding only_finding(test::Scenario& scenario) {
    const auto found = findings_of(scenario);
    BOOST_REQUIRE(found.size() == 1u);
    return found.front();
}

double evidence(const Finding& finding, std::string_view key) {
    for (const auto& [name, value] : finding.evidence)
        if (name == key)
            return value;
    BOOST_FAIL("no evidence " << key);
    return 0;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// What `behave` makes of a program whose memory has so many bytes.
template <class Behave>
std::string ids(const Behave& behave, std::uint64_t bytes = 64 * mib) {
    Program program(bytes);
    behave(program);
    return ids_of(program);
}

constexpr double up_by_faults = 23e6 / 256, down_by_faults = 29e6 / 256;     // ns a MiB
constexpr double up_by_prefetch = mib / 51.0, down_by_prefetch = mib / 24.0; // the same
const auto about = boost::test_tools::tolerance(0.03);

} // namespace

BOOST_AUTO_TEST_CASE(thrashing) {
    BOOST_TEST(ids([](Program& p) {
                   p.bounce(4, p.bytes);
                   p.thrash(100);
               }) == "UMA-201");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.thrash(0);
                   p.bounce(4, p.bytes);
               }) == "UMA-202"); // slowly: no event
}

BOOST_AUTO_TEST_CASE(thrashing_inside_one_kernel_is_priced_by_events_and_throttling) {
    Program p(4096);
    p.look(0, before);
    p.launch(p.kernel, {p.id}, 0, p.launched);
    p.thrash(1000);
    trace::ManagedEvent record;
    record.kind = Kind::throttling;
    record.address = test::address_of(p.id);
    record.duration = 7 * ms;
    p.event(record);
    p.wait();
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->name == "thrashing");
    BOOST_TEST(finding.saving_ns == 1000 * 30e3 + 7e6, about);
    BOOST_TEST(
        contains(finding.advice,
                 "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetPreferredLocation, {cudaMemLocationTypeHost, "
                 "0}) and cudaMemAdvise(ptr, bytes, cudaMemAdviseSetAccessedBy, "
                 "{cudaMemLocationTypeDevice, device})"),
        finding.advice);
    BOOST_TEST((finding.confidence == Confidence::low)); // nothing says how much moved
}

BOOST_AUTO_TEST_CASE(thrashing_that_is_only_seen_is_priced_by_arrivals) {
    Program p(4096);
    const auto quickly = [&p](std::uint64_t host_bytes, trace::SampleMoment moment) {
        p.residency(p.id, p.bytes, host_bytes, moment);
    };
    quickly(0, before);
    for (int i = 0; i < 20; ++i) {
        p.launch(p.kernel, {p.id}, 0, p.launched);
        trace::Sync record;
        record.entry = p.entry("cuCtxSynchronize");
        record.start = p.now;
        record.duration = 90'000;
        p.builder.add(record);
        p.now += 100'000;
        quickly(0, after);
        quickly(p.bytes, before);
    }
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-201");
    BOOST_TEST(finding.saving_ns > 30 * 30e3); // 20 times there and 19 times back
    BOOST_TEST(finding.saving_ns < 40 * 30e3);
}

BOOST_AUTO_TEST_CASE(ping_pong) {
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes); }) == "UMA-202");
    BOOST_TEST(ids([](Program& p) { p.bounce(0, p.bytes); }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(1, p.bytes); }) == "UMA-205"); // once back is no alternation
    // By hand both ways, and used on both sides.
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   for (int i = 0; i < 4; ++i) {
                       p.to_host();
                       p.wait();
                       p.to_device();
                       p.look(0, before);
                       p.round();
                   }
               }) == "");
}

BOOST_AUTO_TEST_CASE(alternation_is_found_once_and_names_its_lines) {
    Program p(32 * mib);
    p.bounce(9, p.bytes);
    p.free(p.id);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-202");
    BOOST_TEST(finding.allocation_stack == p.line);
    BOOST_TEST(finding.stack == p.launched);
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 32 MiB");
    BOOST_TEST(finding.summary ==
               "launch of scale: came back 9 times by faults and was pulled over again, 576 MiB in all");
    BOOST_TEST(evidence(finding, "bytes_to_device") == 9.0 * 32 * mib);
    BOOST_TEST(evidence(finding, "bytes_to_host") == 9.0 * 32 * mib);
    BOOST_TEST(finding.saving_ns == 288 * (up_by_faults - up_by_prefetch + down_by_faults - down_by_prefetch),
               about);
    BOOST_TEST((finding.confidence == Confidence::medium)); // seen here and there, not counted
    BOOST_TEST(contains(finding.advice,
                        "cudaMemPrefetchAsync(ptr, bytes, {cudaMemLocationTypeDevice, device}, 0, stream)"));
}

BOOST_AUTO_TEST_CASE(first_touch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.round();
               }) == "UMA-203");
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
               }) == "");
    BOOST_TEST(ids(
                   [](Program& p) {
                       p.filled();
                       p.round();
                   },
                   64 << 10) == ""); // not worth a line
}

BOOST_AUTO_TEST_CASE(first_touch_at_the_price_of_faults) {
    Program p(256 * mib);
    p.filled();
    p.round();
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.allocation_stack == p.line);
    BOOST_TEST(finding.saving_ns == 23e6 - 5.26e6, about);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(first_touch_measured_against_later_launches_of_the_kernel) {
    Program p(256 * mib);
    const auto other = p.managed(256 * mib, p.line);
    const auto round = [&](std::uint64_t sample, std::uint64_t time) {
        p.launch(p.kernel, {p.id, other}, sample, p.launched);
        p.wait();
        p.device_time(sample, time);
        p.look(0, after);
        p.residency(other, 256 * mib, 0, after);
    };
    p.filled();
    p.residency(other, 256 * mib, 256 * mib, before);
    round(1, 60 * ms);
    for (std::uint64_t sample = 2; sample < 12; ++sample)
        round(sample, ms);
    const Finding finding = only_finding(p); // of both: they have one line
    BOOST_TEST(finding.rule->id == "UMA-203");
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 256 MiB x 2");
    BOOST_TEST(finding.saving_ns == 59e6 - 2 * 5.26e6, about);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(host_populate) {
    const Look regular{.regularity = trace::Regularity::regular};
    BOOST_TEST(ids([&](Program& p) {
                   p.filled(regular);
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == "UMA-204");
    BOOST_TEST(ids([&](Program& p) {
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([&](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.round();
               }) == ""); // no kernel could have made it
}

BOOST_AUTO_TEST_CASE(what_is_made_on_the_wrong_side_contains_its_first_touch) {
    Program p;
    p.filled({.regularity = trace::Regularity::regular});
    p.round();
    p.round();
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-204");
    BOOST_TEST(finding.saving_ns == 64 * up_by_faults, about); // the move vanishes
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front()->id == "UMA-203");
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(contains(finding.details.front(), "UMA-203"));
    BOOST_TEST(contains(finding.details.front(), "cudaMemPrefetchAsync"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(read_back) {
    BOOST_TEST(ids([](Program& p) { p.bounce(1, p.bytes); }) == "UMA-205");
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
                   p.to_host();
                   p.wait();
                   p.look(p.bytes, before);
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(1, mib); }) == ""); // a little of it
    Program p;
    p.bounce(1, p.bytes);
    BOOST_TEST(only_finding(p).saving_ns == 64 * (down_by_faults - down_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(false_sharing) {
    constexpr std::uint64_t granule = 64 << 10;
    BOOST_TEST(ids([](Program& p) { p.bounce(12, granule, 1, 1, 81); }) == "UMA-206");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(12, granule, 1, 1); }) == "UMA-202"); // more than one line of it
    Program p;
    p.bounce(12, granule, 1, 1, 81);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 12 * 2 * 30e3 + 0.75 * (up_by_faults + down_by_faults), about);
    BOOST_TEST(contains(finding.advice, "an allocation of its own"), finding.advice);
}

BOOST_AUTO_TEST_CASE(read_only_bouncing) {
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes, 5); }) == "UMA-207");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) { p.bounce(4, p.bytes, 5, 1); }) == "UMA-202"); // somebody writes
    Program p;
    p.bounce(4, p.bytes, 5);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 4 * 64 * (up_by_faults + down_by_faults), about);
    BOOST_TEST(
        contains(finding.advice,
                 "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, device})"),
        finding.advice);
}

BOOST_AUTO_TEST_CASE(remote_access) {
    const auto remote = [](int launches, bool advised) {
        return ids([=](Program& p) {
            if (advised)
                p.advise(3, trace::Location::host); // SetPreferredLocation
            p.filled();
            for (int i = 0; i < launches; ++i)
                p.launch(p.kernel, {p.id}, 0, p.launched);
            p.wait();
            p.look(p.bytes, after);
        });
    };
    BOOST_TEST(remote(5, true) == "UMA-208");
    BOOST_TEST(remote(2, true) == "");
    BOOST_TEST(remote(9, false) == "");
    Program p;
    p.advise(3, trace::Location::host);
    p.filled();
    for (int i = 0; i < 10; ++i)
        p.launch(p.kernel, {p.id}, 0, p.launched);
    p.wait();
    p.look(p.bytes, after);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 10 * 64 * mib / 40.0 - 64 * up_by_prefetch, about);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(oversubscribed) {
    const auto evicted = [](Program& p, std::uint64_t blocks) {
        trace::Device device;
        device.memory_bytes = 48 * mib;
        p.builder.add(device);
        p.tell(test::all_kinds);
        p.look(0, before);
        p.launch(p.kernel, {p.id}, 0, p.launched);
        for (std::uint64_t i = 0; i < blocks; ++i) {
            const std::uint64_t address = test::address_of(p.id) + i % 32 * 2 * mib;
            p.migrate(address, 2 * mib, test::host, trace::MigrationCause::eviction);
            p.migrate(address, 2 * mib, test::device);
            p.now += ms;
        }
        p.wait();
    };
    BOOST_TEST(ids([&](Program& p) { evicted(p, 16); }) == "UMA-209");
    BOOST_TEST(ids([&](Program& p) { evicted(p, 0); }) == "");
    // As much goes to the host, but since the host has asked for it.
    BOOST_TEST(ids([&](Program& p) {
                   p.tell(test::all_kinds);
                   p.look(0, before);
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.migrate(test::address_of(p.id), 32 * mib, test::host);
                   p.wait();
               }) == "");
    Program p;
    evicted(p, 16);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.saving_ns == 32 * (up_by_faults - up_by_prefetch) + 16 * 27e3, about);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details.front() ==
               "the program held up to 64 MiB of managed and device memory; the device has 48 MiB");
}

BOOST_AUTO_TEST_CASE(prefetch_ping_pong) {
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
                   for (int i = 0; i < 3; ++i) {
                       p.to_host(); // the host never waits for it
                       p.to_device();
                       p.look(0, before);
                       p.round();
                   }
               }) == "UMA-210");
    BOOST_TEST(ids([](Program& p) {
                   p.round();
                   p.round();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.look(0, before);
                   p.round();
                   for (int i = 0; i < 3; ++i) {
                       p.to_host();
                       p.wait();
                       p.to_device();
                       p.look(0, before);
                       p.round();
                   }
               }) == "");
    Program p;
    p.look(0, before);
    p.round();
    for (int i = 0; i < 3; ++i) {
        p.to_host();
        p.to_device();
        p.look(0, before);
        p.round();
    }
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 3 * 64 * (up_by_prefetch + down_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(late_prefetch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.to_device();
                   p.wait();
                   p.look(0, after);
               }) == "UMA-211");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.round();
               }) == "");
    // The prefetch brings the next part.
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.launch(p.kernel, {p.id}, 0, p.launched);
                   p.to_device(p.bytes / 2);
                   p.wait();
                   p.look(0, after);
               }) == "");
    Program p;
    p.filled();
    p.launch(p.kernel, {p.id}, 0, p.launched);
    p.to_device();
    p.wait();
    p.look(0, after);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().first == "scale is launched here");
    BOOST_TEST(finding.places.front().second == p.launched);
    BOOST_TEST(finding.saving_ns == 64 * (up_by_faults - up_by_prefetch), about); // all came by faults
    BOOST_TEST(contains(finding.advice, "cudaStreamWaitEvent"));
}

BOOST_AUTO_TEST_CASE(redundant_prefetch) {
    const auto again = [](int times) {
        return [times](Program& p) {
            p.look(0, before);
            p.round();
            for (int i = 0; i < times; ++i) {
                p.to_device();
                p.round();
            }
        };
    };
    BOOST_TEST(ids(again(8)) == "UMA-212");
    BOOST_TEST(ids(again(0)) == "");
    BOOST_TEST(ids(again(1), 1024 * mib) == ""); // once may be caution
    Program p;
    again(8)(p);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.stack == p.prefetched);
    BOOST_TEST(finding.saving_ns == 8 * (1800 + 32 * 900.0), about);
}

BOOST_AUTO_TEST_CASE(unused_prefetch) {
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.wait();
                   p.to_host();
                   p.wait();
               }) == "UMA-213");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.wait();
               }) == "");
    BOOST_TEST(ids([](Program& p) {
                   p.filled();
                   p.to_device();
                   p.look(0, before);
                   p.round();
                   p.to_host();
                   p.wait();
               }) == "");
    Program p;
    p.filled();
    p.to_device();
    p.wait();
    p.to_host();
    p.wait();
    BOOST_TEST(only_finding(p).saving_ns == 64 * up_by_prefetch, about);
}

BOOST_AUTO_TEST_CASE(there_and_back_for_nobody_contains_the_way_there) {
    Program p;
    p.look(0, before);
    p.round();
    for (int i = 0; i < 3; ++i) {
        p.to_host();
        p.wait();
        p.to_device();
        p.wait();
    }
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-210");
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front()->id == "UMA-213");
}

BOOST_AUTO_TEST_CASE(allocations_of_one_line_are_one_finding) {
    Program p;
    p.bounce(4, p.bytes);
    p.free(p.id);
    p.id = p.managed(p.bytes, p.line);
    p.bounce(4, p.bytes);
    const Finding finding = only_finding(p);
    BOOST_TEST(evidence(finding, "allocations") == 2);
    BOOST_TEST(evidence(finding, "times") == 8);
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 64 MiB x 2");
}

BOOST_AUTO_TEST_CASE(stacks_with_one_line_are_one_finding) {
    Program p;
    p.bounce(4, p.bytes);
    p.id = p.managed(p.bytes, p.stack());
    p.bounce(4, p.bytes);
    reader::Trace trace(p.path());
    const model::Profile profile(trace);
    const auto one_line = findings::find_all(profile, [](std::uint64_t) { return 1; });
    BOOST_REQUIRE(one_line.size() == 1u);
    BOOST_TEST(evidence(one_line.front(), "allocations") == 2);
    BOOST_TEST(ids_of(p) == "UMA-202 UMA-202");
}

BOOST_AUTO_TEST_CASE(memory_that_umadvisor_made_managed_is_not_the_programs) {
    Program p;
    p.id = p.allocate(p.bytes, Memory::managed, p.line, trace::Origin::umadvisor);
    p.bounce(4, p.bytes);
    BOOST_TEST(ids_of(p) == "");
}

BOOST_AUTO_TEST_CASE(prefetches_by_umadvisor_are_no_fault_of_the_run) {
    Program p;
    p.filled();
    p.Scenario::prefetch(p.id, p.bytes, trace::Location::device, trace::Origin::umadvisor);
    p.look(0, before);
    p.round();
    BOOST_TEST(ids_of(p) == "");
}

BOOST_AUTO_TEST_CASE(no_more_is_promised_than_was_recorded) {
    Program p;
    p.bounce(40, p.bytes);
    reader::Trace trace(p.path());
    const model::Profile profile(trace);
    const auto line = [](std::uint64_t stack) { return stack; };
    const double saving = findings::find_all(profile, line).front().saving_ns;
    BOOST_TEST(saving < static_cast<double>(profile.recorded_ns()));
    // The same in less time than it would take.
    Program quick(256 * mib);
    for (int i = 0; i < 40; ++i) {
        quick.residency(quick.id, quick.bytes, quick.bytes, before);
        quick.launch(quick.kernel, {quick.id}, 0, quick.launched);
        quick.synchronize();
        quick.residency(quick.id, quick.bytes, 0, after);
    }
    reader::Trace quick_trace(quick.path());
    const model::Profile quick_profile(quick_trace);
    BOOST_TEST(findings::find_all(quick_profile, line).front().saving_ns ==
               static_cast<double>(quick_profile.recorded_ns()));
}

BOOST_AUTO_TEST_CASE(bytes_that_the_driver_counted_are_sure) {
    Program p;
    p.tell(test::all_kinds);
    p.counters(0, 0);
    p.look(0, before);
    p.launch(p.kernel, {p.id}, 0, p.launched);
    p.migrate(test::address_of(p.id), p.bytes, test::device);
    p.wait();
    p.look(0, after);
    p.fault(Kind::host_fault, test::address_of(p.id), 0, p.touched);
    p.migrate(test::address_of(p.id), 48 * mib, test::host);
    p.now += ms;
    p.counters(p.bytes, 48 * mib);
    p.look(48 * mib, before);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-205");
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(finding.saving_ns == 48 * (down_by_faults - down_by_prefetch), about);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().first == "the host reads it here");
    BOOST_TEST(finding.places.front().second == p.touched);
}

BOOST_AUTO_TEST_CASE(a_first_launch_counts_where_the_host_had_the_memory) {
    Program p(256 * mib);
    const auto other = p.managed(64 * mib, p.line);
    p.residency(other, 64 * mib, 0, before);
    p.launch(p.kernel, {other}, 1, p.launched); // of another: it was never on the host
    p.wait();
    p.device_time(1, 90 * ms);
    p.filled();
    for (std::uint64_t sample = 2; sample < 12; ++sample) {
        p.launch(p.kernel, {p.id}, sample, p.launched);
        p.wait();
        p.device_time(sample, sample == 2 ? 40 * ms : ms);
        p.look(0, after);
    }
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-203");
    BOOST_TEST(evidence(finding, "measured_bytes") == 256.0 * mib);
}

BOOST_AUTO_TEST_CASE(of_a_late_prefetch_the_part_that_faults_brought_counts) {
    constexpr std::uint64_t faults = 512; // of 64 KiB each: half of it
    Program p;
    p.tell(test::all_kinds);
    p.fault(Kind::host_fault, test::address_of(p.id), 0, p.touched);
    p.now += ms;
    p.filled();
    p.counters(0, 0);
    p.to_device();
    p.launch(p.kernel, {p.id}, 0, p.launched);
    p.migrate(test::address_of(p.id), p.bytes, test::device);
    p.wait();
    trace::ManagedCounters record;
    record.start = p.now;
    record.bytes_to_device = p.bytes;
    record.device_faults = faults;
    p.builder.add(record);
    p.now += 100;
    p.look(0, after);
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-211");
    BOOST_TEST(evidence(finding, "bytes_by_faults") == 32.0 * mib);
    BOOST_TEST(finding.saving_ns == 32 * (up_by_faults - up_by_prefetch), about);
}

BOOST_AUTO_TEST_CASE(what_was_copied_there_was_not_made_there) {
    const auto filled_by = [](std::string_view module_path) {
        Program p;
        trace::Module module;
        module.id = 1;
        module.path = module_path;
        p.builder.add(module);
        trace::Frame frame;
        frame.id = 900;
        frame.module = 1;
        frame.address = 0x1000;
        p.builder.add(frame);
        p.tell(test::all_kinds);
        p.fault(Kind::host_fault, test::address_of(p.id), 0, frame.id);
        p.now += ms;
        p.filled();
        p.round();
        p.round();
        return ids_of(p);
    };
    BOOST_TEST(filled_by("/home/user/program") == "UMA-204");
    BOOST_TEST(filled_by("/lib/x86_64-linux-gnu/libc.so.6") == "UMA-203"); // read from a file, say
}

BOOST_AUTO_TEST_CASE(calls_are_the_drivers_where_the_program_uses_no_runtime) {
    Program p(64 * mib, false);
    p.bounce(4, p.bytes, 5);
    const Finding finding = only_finding(p);
    BOOST_TEST(contains(finding.advice, "cuMemAdvise(ptr, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, "
                                        "{CU_MEM_LOCATION_TYPE_DEVICE, device})"),
               finding.advice);
    Program touched(64 * mib, false);
    touched.filled();
    touched.round();
    BOOST_TEST(contains(only_finding(touched).advice,
                        "cuMemPrefetchAsync(ptr, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, device}, 0, stream)"));
}

BOOST_AUTO_TEST_CASE(ids_and_names_stay) {
    std::string text;
    for (const findings::Rule& rule : findings::rules)
        text += std::string(rule.id) + " " + std::string(rule.name) + "\n";
    BOOST_TEST(text == "UMA-101 pageable-copy\nUMA-102 pageable-async\nUMA-103 small-copies\n"
                       "UMA-104 narrow-rows\nUMA-105 managed-copied\nUMA-109 serial-copies\n"
                       "UMA-110 default-stream\nUMA-111 through-host\nUMA-112 scalar-download\n"
                       "UMA-201 thrashing\n"
                       "UMA-202 ping-pong\nUMA-203 first-touch\nUMA-204 host-populate\nUMA-205 read-back\n"
                       "UMA-206 false-sharing\nUMA-207 read-only-bouncing\nUMA-208 remote-access\n"
                       "UMA-209 oversubscribed\nUMA-210 prefetch-ping-pong\nUMA-211 late-prefetch\n"
                       "UMA-212 redundant-prefetch\nUMA-213 unused-prefetch\nUMA-401 allocation-churn\nUMA-501 "
                       "redundant-sync\n");
}

BOOST_AUTO_TEST_SUITE_END()
