#include "analyzer/advice/findings.hpp"
#include "command_run.hpp"
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_findings)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

const auto exactly = boost::test_tools::tolerance(0.001);

/// To page-lock so much once.
double lock_ns(double bytes) {
    const machine::Rates rates;
    return rates.page_lock_ns + bytes / rates.page_lock * 1e9;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pageable_copy, *umadvisor::test::on_rules("UMA-101 UMA-102 UMA-701"))

BOOST_FIXTURE_TEST_CASE(synchronous_copies_from_the_heap, Scenario) {
    builder.add(trace::HostRange{.id = 1, .kind = trace::HostRangeKind::heap});
    const auto line = stack();
    for (int i = 0; i < 40; ++i)
        copy(256 * mib, 26 * ms, {.stack = line, .host_range = 1});
    const Finding finding = lone(*this, "UMA-101");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "copies") == 40);
    BOOST_TEST(evidence(finding, "bytes") == 40.0 * 256 * mib);
    BOOST_TEST(contains(finding.summary, "cudaMemcpy 256 MiB x 40 from the heap, 10.3 GB/s"));
    // 40 x (26 ms - 256 MiB at 55.5 GB/s), and the price of page-locking
    BOOST_TEST(finding.saving_ns == 40 * (26e6 - 256 * mib / 55.5) - lock_ns(256 * mib), exactly);
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_FIXTURE_TEST_CASE(the_link_as_measured_in_this_trace, Scenario) {
    copy(256 * mib, 10 * ms, {.source = Memory::pinned});
    copy_often(256 * mib, 26 * ms, {});
    const Finding finding = lone(*this, "UMA-101");
    BOOST_TEST(finding.saving_ns == 4 * 16e6 - lock_ns(256 * mib), exactly);
    BOOST_TEST(contains(finding.basis, "in this trace"));
}

BOOST_FIXTURE_TEST_CASE(link_measured_by_device_times_of_asynchronous_copies, Scenario) {
    copy(256 * mib, 4000, {.source = Memory::pinned, .sample = 7, .asynchronous = true});
    synchronize({.duration = 10 * ms});
    device_time(7, 10 * ms);
    copy_often(256 * mib, 26 * ms, {});
    const Finding finding = lone(*this, "UMA-101");
    BOOST_TEST(finding.saving_ns == 4 * 16e6 - lock_ns(256 * mib), exactly);
}

BOOST_FIXTURE_TEST_CASE(what_is_copied_once_stays_pageable, Scenario) {
    const auto line = stack();
    for (const std::uint64_t size : {40u, 60u, 80u}) // of a buffer that is made anew
        copy(size * mib, size * 100'000, {.stack = line});
    copy(256 * mib, 26 * ms, {.stack = stack()});
    nothing_in(*this);
}

/// The first time the disk is read, which a page-locked buffer would have to wait for, too.
BOOST_AUTO_TEST_CASE(copies_that_wait_for_pages_of_a_file_are_not_counted) {
    const auto copied = [](Scenario& s, int cold, int warm) {
        s.builder.add(trace::HostRange{.id = 1, .kind = trace::HostRangeKind::file});
        const auto line = s.stack();
        for (int i = 0; i < cold + warm; ++i)
            s.copy(256 * mib, i < cold ? 500 * ms : 26 * ms,
                   {.stack = line, .host_range = 1, .disk_faults = i < cold ? 100u : 0u});
    };
    Scenario some, all, none;
    copied(some, 1, 4);
    copied(all, 4, 0);
    copied(none, 0, 4);
    const Finding finding = lone(some, "UMA-101");
    BOOST_TEST(evidence(finding, "copies") == 4);
    BOOST_TEST(finding.saving_ns == 4 * (26e6 - 256 * mib / 55.5) - lock_ns(256 * mib), exactly);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details.front().starts_with("1 more, 256 MiB in all, waited for pages of the file"),
               finding.details.front());
    nothing_in(all);
    BOOST_TEST(lone(none, "UMA-101").details.empty());

    const auto note = [](Scenario& s) {
        const std::string text = run({"report", s.path()}).out;
        const std::size_t at = text.find("from mapped files waited for pages from the disk: ");
        return at == std::string::npos ? "" : text.substr(at + 50, 10);
    };
    BOOST_TEST(note(all) == "1 GiB in 2");
    BOOST_TEST(note(some) == "256 MiB in");
    BOOST_TEST(note(none) == "");
}

/// As a heap places what is made anew in each round.
BOOST_AUTO_TEST_CASE(a_buffer_that_begins_a_little_elsewhere_each_time_is_one) {
    facts::Footprint memory;
    for (std::uint64_t round = 0; round < 60; ++round)
        memory.add(0x5200'0000 + round * 37 % 60 * 1024, 16 * mib);
    BOOST_TEST(memory.bytes() == 16 * mib + 59 * 1024);
}

BOOST_AUTO_TEST_CASE(of_overlapping_parts_the_whole_counts) {
    facts::Footprint memory;
    for (const std::uint64_t part : {0u, 4u, 1u, 3u, 2u}) // 8 MiB each, half of it the next one's, too
        memory.add(0x7f00'0000'0000 + part * 4 * mib, 8 * mib);
    memory.add(0x7f00'0000'0000 + 64 * mib, 8 * mib);
    memory.add(0x7f00'0000'0000, 12 * mib); // another size
    BOOST_TEST(memory.bytes() == (24 + 8 + 12) * mib);
    facts::Footprint both;
    both.add(0x7f00'0000'0000 + 20 * mib, 8 * mib);
    both.add(memory);
    BOOST_TEST(both.bytes() == (28 + 8 + 12) * mib);
}

BOOST_FIXTURE_TEST_CASE(a_wait_for_kernels_is_no_copy_time, Scenario) {
    const auto kernel = function("f"), line = stack();
    const auto memory = allocate(16 * mib, Memory::device);
    for (int round = 0; round < 3; ++round) {
        launch(kernel, {memory}, static_cast<std::uint64_t>(round) + 1);
        download(mib, 300 * ms, {.destination = Memory::pageable, .stack = line, .from = memory});
        device_time(static_cast<std::uint64_t>(round) + 1, 299'900'000);
    }
    for (const Finding& finding : findings_of(*this))
        BOOST_TEST(finding.saving_ns < 3 * 200'000, finding.rule->id << ": " << finding.summary);
}

BOOST_FIXTURE_TEST_CASE(staging_holds_the_host_though_the_device_has_time, Scenario) {
    for (int i = 0; i < 50; ++i) {
        copy(mib, ms / 5, {.stack = 7, .asynchronous = true});
        now += ms;
    }
    const Finding finding = lone(*this, "UMA-102");
    BOOST_TEST(finding.saving_ns > 50 * 0.17e6); // of 0.2 ms each, less 19 us and what locking takes
}

BOOST_FIXTURE_TEST_CASE(asynchronous_in_name_only, Scenario) {
    for (int i = 0; i < 4; ++i)
        copy(256 * mib, 25 * ms, {.asynchronous = true});
    const Finding finding = lone(*this, "UMA-102");
    BOOST_TEST(finding.title == "asynchronous in name only: pageable copies, host to device");
    BOOST_TEST(contains(finding.summary, "cudaMemcpyAsync"));
}

BOOST_AUTO_TEST_CASE(directions_and_lines_are_told_apart) {
    Scenario s;
    const auto upload = s.stack(), download = s.stack();
    for (int i = 0; i < 4; ++i) {
        s.copy(64 * mib, 6 * ms, {.stack = upload});
        s.download(64 * mib, 4 * ms, {.destination = Memory::pageable, .stack = download});
    }
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].stack == upload); // saves more
    BOOST_TEST(found[1].stack == download);
    BOOST_TEST(found[1].title == "pageable copies, device to host");
}

BOOST_FIXTURE_TEST_CASE(one_line_reached_by_many_ways_is_one_finding, Scenario) {
    for (std::uint64_t stack = 1; stack <= 20; ++stack)
        copy(64 * mib, 6 * ms, {.stack = stack});
    reader::Trace trace(path());
    const rules::Profile profile(trace);
    const auto found =
        advice::find_all(profile, [](ids::StackId stack) { return ids::StackId(stack.number() % 2); }).all;
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(evidence(found.front(), "copies") == 10);
}

BOOST_FIXTURE_TEST_CASE(pinned_and_registered_copies_are_right, Scenario) {
    for (int i = 0; i < 10; ++i) {
        copy(256 * mib, 5 * ms, {.source = Memory::pinned});
        copy(256 * mib, 5 * ms, {.source = Memory::registered});
    }
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(rows_and_arrays_are_copies_too, Scenario) {
    copy_often(256 * mib, 26 * ms, {.stack = stack(), .height = 1024});
    copy_often(256 * mib, 26 * ms,
               {.symbol = "cuMemcpy3D_v2", .destination = Memory::array, .stack = stack(), .height = 1024});
    BOOST_TEST(rules_of(*this) == "UMA-101 UMA-101");
}

BOOST_FIXTURE_TEST_CASE(one_small_copy_is_nothing, Scenario) {
    copy(4, 5000, {});
    copy(mib, 70'000, {});
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(copies_by_umadvisor_and_failed_ones_do_not_count, Scenario) {
    for (int i = 0; i < 10; ++i) {
        copy(256 * mib, 26 * ms, {.origin = trace::Origin::umadvisor});
        copy(256 * mib, 26 * ms, {.status = 1});
    }
    lone(*this, "UMA-701");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fresh_pages, *umadvisor::test::on_rules("UMA-118"))

BOOST_FIXTURE_TEST_CASE(downloads_into_new_pages, Scenario) {
    download(256 * mib, 190 * ms, {.destination = Memory::pageable});
    const Finding finding = lone(*this, "UMA-118");
    const machine::Rates rates;
    BOOST_TEST(finding.saving_ns == 190e6 - rates.small_copy_ns - 256 * mib / rates.device_to_pageable * 1e9 -
                                        256 * mib / rates.host_first_touch * 1e9,
               exactly);
}

BOOST_FIXTURE_TEST_CASE(a_download_at_the_usual_rate_has_its_pages, Scenario) {
    download(256 * mib, 15 * ms, {.destination = Memory::pageable});
    nothing_in(*this);
}

/// Making its pages alone would have taken longer.
BOOST_FIXTURE_TEST_CASE(a_download_on_a_machine_whose_copies_are_slow_has_its_pages, Scenario) {
    const auto line = stack();
    for (std::uint64_t buffer = 1; buffer <= 48; ++buffer)
        download(16 * mib, 2 * ms, {.destination = Memory::pageable, .stack = line, .to = buffer});
    nothing_in(*this);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(needless_waits, *umadvisor::test::on_rules("UMA-506"))

/// In each of a thousand rounds a kernel, a wait and what the host does next.
template <class Next>
Found waits_before(Memory memory, const Next& next) {
    Scenario s;
    const auto kernel = s.function("f"), line = s.stack();
    const auto block = s.allocate(16 * mib, memory);
    for (int round = 0; round < 500; ++round) {
        s.launch(kernel, {block});
        s.synchronize({.stack = line, .duration = 20'000});
        next(s, block);
    }
    s.download(mib, 30'000, {.from = block});
    return findings_of(s);
}

BOOST_AUTO_TEST_CASE(a_wait_after_each_launch) {
    const Finding finding = lone(waits_before(Memory::device, [](Scenario&, std::uint64_t) {}), "UMA-506");
    BOOST_TEST(evidence(finding, "needless") >= 499);
    // The kernels stay: what goes is each launch behind the end of the one before.
    BOOST_TEST(finding.saving_ns > 500 * 1'000.0);
    BOOST_TEST(finding.saving_ns < 500 * 15'000.0);
}

BOOST_AUTO_TEST_CASE(what_the_host_can_read_may_be_read) {
    BOOST_TEST(waits_before(Memory::managed, [](Scenario&, std::uint64_t) {}).empty());
    BOOST_TEST(waits_before(Memory::pinned, [](Scenario&, std::uint64_t) {}).empty());
}

BOOST_AUTO_TEST_CASE(an_upload_of_pageable_memory_and_its_wait_are_one_copy) {
    for (const bool alone : {true, false}) {
        Scenario s;
        const auto kernel = s.function("f"), block = s.allocate(16 * mib, Memory::device);
        for (int round = 0; round < 500; ++round) {
            if (!alone)
                s.launch(kernel, {block});
            s.copy(4096, 3000, {.stack = 7, .asynchronous = true, .to = block});
            s.synchronize({.stack = 8, .duration = 20'000});
        }
        s.download(mib, 30'000, {.from = block});
        BOOST_TEST(tells(findings_of(s), "UMA-506") != alone);
    }
}

BOOST_AUTO_TEST_CASE(a_wait_before_a_free_that_waits_costs_nothing) {
    for (const bool ordered : {false, true})
        BOOST_TEST(waits_before(Memory::device, [ordered](Scenario& s, std::uint64_t) {
                       const auto scratch = s.allocate(mib, Memory::device);
                       ordered ? s.free_async(scratch) : s.free(scratch);
                   }).empty() != ordered);
}

BOOST_AUTO_TEST_CASE(a_wait_before_a_copy_that_waits_costs_nothing) {
    for (const bool asynchronous : {false, true})
        BOOST_TEST(waits_before(Memory::device, [asynchronous](Scenario& s, std::uint64_t block) {
                       s.download(
                           mib, 30'000,
                           {.destination = Memory::pageable, .asynchronous = asynchronous, .from = block});
                   }).empty());
}

BOOST_AUTO_TEST_CASE(a_host_that_works_meanwhile_is_another_matter) {
    BOOST_TEST(waits_before(Memory::device, [](Scenario& s, std::uint64_t) { s.now += 100'000; }).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(small_copies, *umadvisor::test::on_rules("UMA-101 UMA-103 UMA-119"))

BOOST_FIXTURE_TEST_CASE(many_from_one_line, Scenario) {
    const auto line = stack();
    for (int i = 0; i < 1000; ++i)
        copy(1024, 5000, {.source = Memory::pinned, .stack = line});
    const Finding finding = lone(*this, "UMA-103");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "copies") == 1000);
    BOOST_TEST(finding.saving_ns == 999 * (5000.0 - 1024 / 55.5), exactly);
    BOOST_TEST(contains(finding.advice, "cudaMemcpyBatchAsync"));
}

BOOST_AUTO_TEST_CASE(uploads_with_a_wait_for_each) {
    for (const Memory source : {Memory::pageable, Memory::pinned}) {
        Scenario s;
        for (int i = 0; i < 1000; ++i) {
            s.copy(1024, 5000, {.source = source, .stack = 7, .asynchronous = true});
            s.synchronize({.stack = 8, .duration = 2000});
        }
        // What is page-locked the host may write again behind the wait.
        BOOST_TEST(tells(findings_of(s), "UMA-103") == (source == Memory::pageable));
    }
}

BOOST_FIXTURE_TEST_CASE(rows_are_copies_like_others, Scenario) {
    const auto line = stack();
    for (int i = 0; i < 1000; ++i)
        copy(1024, 5000,
             {.symbol = "cuMemcpy2DAsync_v2", .source = Memory::pinned, .stack = line, .height = 4});
    const Finding finding = lone(*this, "UMA-103");
    BOOST_TEST(contains(finding.summary, "cudaMemcpy2DAsync"));
}

/// `calls` calls of `copies` copies each, every second one from pageable memory, the time on the first.
void add_batches(Scenario& s, int calls, int copies) {
    const auto stack = s.stack();
    for (int call = 0; call < calls; ++call)
        for (int copy = 0; copy < copies; ++copy)
            s.copy(1024, copy == 0 ? 5000 : 0,
                   {.symbol = "cuMemcpyBatchAsync_v2",
                    .source = copy % 2 == 0 ? Memory::pinned : Memory::pageable,
                    .stack = stack,
                    .asynchronous = true,
                    .batch = static_cast<std::uint64_t>(copy) + 1});
}

BOOST_FIXTURE_TEST_CASE(what_is_batched_is_not_to_be_batched, Scenario) {
    add_batches(*this, 1, 500);
    add_batches(*this, 200, 2);
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(few_that_take_long_are_worth_it, Scenario) {
    for (int i = 0; i < 20; ++i)
        copy(1024, 50'000, {.source = Memory::pinned});
    lone(*this, "UMA-103");
}

BOOST_FIXTURE_TEST_CASE(loops_that_follow_each_other_are_findings_of_their_own, Scenario) {
    const std::uint64_t lines[] = {stack(), stack()};
    for (const std::uint64_t line : lines)
        for (int i = 0; i < 500; ++i)
            copy(6, 5000, {.source = Memory::pinned, .stack = line});
    const auto found = findings_of(*this);
    BOOST_TEST_REQUIRE(found.size() == 2u);
    for (const Finding& each : found) {
        BOOST_TEST(each.rule->id == "UMA-103");
        BOOST_TEST(each.places.empty());
        BOOST_TEST(each.saving_ns <= 500 * 5000.0);
    }
}

/// In each of `rounds` a kernel, and `downloads` small copies of its result.
void add_rounds(Scenario& s, int rounds, int downloads) {
    const auto kernel = s.function("f");
    const auto memory = s.allocate(16 * mib, Memory::device);
    const std::uint64_t lines[] = {s.stack(), s.stack()};
    for (int round = 0; round < rounds; ++round) {
        s.launch(kernel, {memory});
        for (int download = 0; download < downloads; ++download)
            s.download(32 * 1024, 10'000, {.stack = lines[download % 2], .from = memory});
        s.copy(455, 5'000, {.source = Memory::pinned, .stack = 7, .to = memory});
    }
}

BOOST_FIXTURE_TEST_CASE(copies_of_two_rounds_are_not_merged, Scenario) {
    add_rounds(*this, 200, 1);
    const Found found = findings_of(*this);
    BOOST_TEST(!tells(found, "UMA-103"));
    BOOST_TEST(!tells(found, "UMA-119"));
}

BOOST_FIXTURE_TEST_CASE(copies_side_by_side_in_one_round_may_be_one, Scenario) {
    add_rounds(*this, 200, 2);
    const Finding packed = among(findings_of(*this), "UMA-119");
    BOOST_TEST(evidence(packed, "calls_spared") == 200);
    BOOST_TEST(packed.places.size() == 1u);
    BOOST_TEST(packed.saving_ns <= 200 * 10'000.0);
    BOOST_TEST(packed.saving_ns >= 200 * 5'000.0);
}

BOOST_FIXTURE_TEST_CASE(many_large_ones_are_not_small, Scenario) {
    for (int i = 0; i < 200; ++i)
        copy(mib, 26'000, {.source = Memory::pinned});
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(a_hundred_lines_with_one_copy_each_are_not_one_line, Scenario) {
    for (int i = 0; i < 150; ++i)
        copy(1024, 5000, {.source = Memory::pinned, .stack = stack()});
    nothing_in(*this);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_CASE(what_saves_most_comes_first, Scenario) {
    for (int i = 0; i < 1000; ++i)
        copy(1024, 5000, {.source = Memory::pinned, .stack = 1});
    synchronize();
    copy_often(1024 * mib, 100 * ms, {.stack = 2});
    BOOST_TEST(rules_of(*this) == "UMA-101 UMA-103");
}

BOOST_AUTO_TEST_SUITE_END()
