/// Calls that fail: in which order, and what is told of them.
#include "hazard_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_calls_fail, *umadvisor::test::on_rules("UMA-101 UMA-701"))

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// An allocation of device memory that the driver has no room for.
void run_out_of_memory(Scenario& s, std::uint64_t bytes, std::uint64_t stack, Memory memory = Memory::device) {
    s.allocate(bytes, memory, {.stack = stack, .status = 2});
}

std::size_t failures(Scenario& s) {
    return of_rule(findings_of(s), "UMA-701").size();
}

/// A capture of `stream` begins or ends.
void capture(Scenario& s, trace::GraphAction action, std::uint64_t stack, std::uint64_t status = 0,
             std::uint64_t stream = 0x70, std::uint32_t thread = 1) {
    s.call(trace::Graph{.stack = stack, .action = action, .stream = trace::StreamId{stream}, .status = status},
           action == trace::GraphAction::begin_capture ? "cuStreamBeginCapture_v2" : "cuStreamEndCapture", 500,
           thread);
}

Finding lone_failure(Scenario& s) {
    return among(findings_of(s), "UMA-701");
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_kernel_that_dies_is_told_once_and_first, Scenario) {
    const auto upload = stack(), wait = stack();
    copy_often(256 * mib, 26 * ms, {.stack = upload});
    synchronize({.stack = wait, .status = 700});
    for (int i = 0; i < 87; ++i)
        copy(mib, 1000, {.stack = upload, .status = 700});
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].rule->id == "UMA-701");
    BOOST_TEST(found[0].stack == wait);
    BOOST_TEST(found[0].summary == "cudaDeviceSynchronize fails, 1 time: an illegal memory access by a kernel "
                                   "(cudaErrorIllegalAddress); 87 calls after it failed, too");
    BOOST_TEST(found[1].rule->id == "UMA-101");
    BOOST_TEST(evidence(found[1], "copies") == 4);
}

BOOST_FIXTURE_TEST_CASE(a_failing_call_that_only_releases_comes_last, Scenario) {
    copy_often(256 * mib, 26 * ms, {.stack = stack()});
    trace::Free record;
    record.stack = stack();
    record.status = 1;
    call(record, "cuMemFree_v2", 500);
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].rule->id == "UMA-101");
    BOOST_TEST(found[1].rule->id == "UMA-701");
    BOOST_TEST(found[1].harmless);
}

BOOST_AUTO_TEST_CASE(an_illegal_access_names_the_free_of_memory_that_a_kernel_may_still_have_used) {
    for (const bool awaited : {false, true}) {
        hazards::Program p;
        const std::uint64_t pooled = p.allocate(8 * mib, Memory::device, {.symbol = "cuMemAllocAsync"});
        p.launch(p.writer, {pooled}, {.stream = hazards::one, .stack = p.launch_at, .ns = 0});
        if (awaited)
            p.wait(trace::SyncKind::stream, hazards::one);
        p.free(pooled, us, p.free_at);
        p.synchronize({.stack = p.stack(), .status = 700});
        const Finding finding = lone_failure(p);
        if (awaited) {
            BOOST_TEST(finding.places.empty());
            continue;
        }
        BOOST_REQUIRE(finding.places.size() == 2u);
        BOOST_TEST(finding.places[0].first == "freed while fill may still have used it, 1 time");
        BOOST_TEST(finding.places[0].second == p.free_at);
        BOOST_TEST(finding.places[1].second == p.launch_at);
    }
}

BOOST_FIXTURE_TEST_CASE(uploads_that_fail_in_the_middle_come_first, Scenario) {
    const auto upload = stack(), one = stack(), other = stack();
    copy_often(256 * mib, 26 * ms, {.stack = upload});
    copy(mib, 1000, {.stack = other, .status = 1});
    copy(mib, 1000, {.stack = one, .status = 1});
    copy_often(256 * mib, 26 * ms, {.stack = upload});
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].stack == other);
    BOOST_TEST(found[0].rule->name == "calls-fail");
    BOOST_TEST(found[0].summary ==
               "2 calls of cudaMemcpy fail, at 2 lines: an invalid value (cudaErrorInvalidValue)");
    BOOST_TEST(evidence(found[0], "failed") == 2);
    BOOST_REQUIRE(found[0].places.size() == 1u);
    BOOST_TEST(found[0].places[0].second == one);
    BOOST_TEST(found[1].stack == upload);
}

BOOST_FIXTURE_TEST_CASE(errors_that_differ_are_findings_of_their_own, Scenario) {
    const auto one = stack(), other = stack();
    copy(mib, 1000, {.stack = other, .status = 1});
    for (int i = 0; i < 3; ++i)
        copy(mib, 1000, {.stack = one, .status = 400});
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].stack == other); // it failed first
    BOOST_TEST(evidence(found[1], "failed") == 3);
}

BOOST_FIXTURE_TEST_CASE(out_of_memory_says_who_held_it, Scenario) {
    const auto few = stack(), most = stack(), managed = stack(), asking = stack();
    allocate(64 * mib, Memory::device, few);
    for (int i = 0; i < 3; ++i)
        allocate(256 * mib, Memory::device, most);
    free(allocate(2048 * mib, Memory::device, few));
    allocate(512 * mib, Memory::managed, managed);
    allocate(4096 * mib, Memory::pinned, few);
    run_out_of_memory(*this, 1024 * mib, asking);
    allocate(128 * mib, Memory::device, few); // later
    run_out_of_memory(*this, 2048 * mib, asking);
    const Finding finding = lone_failure(*this);
    BOOST_TEST(finding.stack == asking);
    BOOST_TEST(finding.summary ==
               "cudaMalloc of 1 GiB fails, 2 times: out of memory (cudaErrorMemoryAllocation)");
    const std::vector<std::pair<std::string, ids::StackId>> held{
        {"held 768 MiB then: cudaMalloc, 3 allocations", ids::StackId(most)},
        {"held 512 MiB then: cudaMallocManaged, managed, 1 allocation", ids::StackId(managed)},
        {"held 64 MiB then: cudaMalloc, 1 allocation", ids::StackId(few)}};
    BOOST_TEST((finding.places == held));
    BOOST_TEST(evidence(finding, "bytes") == 1024 * mib);
    BOOST_TEST(evidence(finding, "held_bytes") == (64 + 768 + 512) * mib);
    BOOST_TEST(evidence(finding, "held_managed_bytes") == 512 * mib);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(
        finding.details[0].starts_with(
            "the program held 1.31 GiB then, 512 MiB of it managed, which may be on the host; the device has "),
        finding.details[0]);
}

BOOST_FIXTURE_TEST_CASE(out_of_page_locked_memory_is_a_matter_of_the_host, Scenario) {
    const auto line = stack();
    allocate(64 * mib, Memory::device, line);
    allocate(256 * mib, Memory::pinned, line);
    run_out_of_memory(*this, 1024 * mib, stack(), Memory::pinned);
    const Finding finding = lone_failure(*this);
    BOOST_TEST(finding.places.size() == 1u);
    BOOST_TEST(finding.details.front() == "the program held 256 MiB of page-locked memory then");
}

/// A limit stands there where it may matter, and as no cause.
BOOST_AUTO_TEST_CASE(page_locking_that_fails_shows_the_limits_of_the_process) {
    const auto failure = [](std::uint64_t lock_limit, std::uint64_t memory_limit, std::uint64_t status,
                            Memory memory = Memory::registered) {
        Scenario s;
        trace::Process process;
        process.lock_limit = lock_limit;
        process.memory_limit = memory_limit;
        s.builder.add(process);
        s.allocate(3 * 1024 * mib, Memory::pinned, s.stack());
        s.allocate(1024 * mib, memory, {.stack = s.stack(), .status = status});
        return lone_failure(s);
    };
    using Details = std::vector<std::string>;
    const std::string held = "the program held 3 GiB of page-locked memory then";
    const Finding group = failure(8 * mib + 1, 4096 * mib + 1, 2);
    BOOST_TEST((group.details ==
                Details{held, "the control groups of the process allow 4 GiB of memory, other memory of the "
                              "host included"}));
    BOOST_TEST(evidence(group, "bytes") == 1024 * mib);
    BOOST_TEST(evidence(group, "held_bytes") == 3072 * mib);
    BOOST_TEST(evidence(group, "memory_limit_bytes") == 4096 * mib);
    const Finding locked = failure(3500 * mib + 1, 0, 304);
    BOOST_TEST(locked.summary == "cudaHostRegister of 1 GiB fails, 1 time: a call of the operating system that "
                                 "failed (cudaErrorOperatingSystem)");
    BOOST_TEST((locked.details == Details{held, "RLIMIT_MEMLOCK is 3.42 GiB"}));
    BOOST_TEST(contains(locked.advice, "page-lock only what copies need at the same time"));
    BOOST_TEST((failure(0, 0, 2).details == Details{held}));
    BOOST_TEST((failure(4096 * mib + 1, 0, 2).details == Details{held}));        // has room for both
    BOOST_TEST(failure(1, 4096 * mib + 1, 712).details.empty());                 // is registered already
    BOOST_TEST(failure(1, 4096 * mib + 1, 304, Memory::device).details.empty()); // is no page-locking
}

BOOST_FIXTURE_TEST_CASE(a_program_that_held_nothing_says_so, Scenario) {
    run_out_of_memory(*this, 1024 * mib, stack());
    const Finding finding = lone_failure(*this);
    BOOST_TEST(finding.places.empty());
    BOOST_TEST(finding.details.front().starts_with("the program held nothing then; the device has "),
               finding.details.front());
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_freed_and_asked_for_again_is_no_failed_run, Scenario) {
    const auto asking = stack(), again = stack(); // an allocator's second try is another of its lines
    const auto cached = allocate(512 * mib, Memory::device, stack());
    run_out_of_memory(*this, 1024 * mib, asking);
    free(cached);
    allocate(1024 * mib, Memory::device, again);
    BOOST_TEST(failures(*this) == 0u);
    // Once more, and now even that is not enough.
    run_out_of_memory(*this, 2048 * mib, asking);
    run_out_of_memory(*this, 2048 * mib, again);
    BOOST_TEST(failures(*this) == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_search_for_what_fits_is_no_failed_run, Scenario) {
    const auto line = stack();
    for (std::uint64_t bytes = 8192 * mib; bytes != 1024 * mib; bytes /= 2)
        run_out_of_memory(*this, bytes, line);
    allocate(1024 * mib, Memory::device, line);
    BOOST_TEST(failures(*this) == 0u);
}

BOOST_AUTO_TEST_CASE(other_memory_that_comes_after_a_failure_does_not_mend_it) {
    Scenario smaller, larger, other, never;
    const auto line = smaller.stack();
    run_out_of_memory(smaller, 1024 * mib, line);
    smaller.allocate(mib, Memory::device, line + 1); // by another line
    BOOST_TEST(failures(smaller) == 1u);
    run_out_of_memory(larger, 1024 * mib, line);
    larger.allocate(2048 * mib, Memory::device, line);
    BOOST_TEST(failures(larger) == 1u);
    run_out_of_memory(other, 1024 * mib, line);
    other.allocate(1024 * mib, Memory::managed, line);
    BOOST_TEST(failures(other) == 1u);
    for (int i = 0; i < 4; ++i)
        run_out_of_memory(never, 1024 * mib >> i, line);
    BOOST_TEST(failures(never) == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_was_used_and_lies_idle_is_told_by_line, Scenario) {
    const auto done = stack(), waiting = stack(), busy = stack();
    const auto kernel = function("_Z4stepPf");
    const auto first = allocate(256 * mib, Memory::device, done);
    allocate(64 * mib, Memory::device, waiting); // its use may still come
    launch(kernel, {first});
    synchronize();
    now += 100 * ms;
    const auto second = allocate(128 * mib, Memory::device, busy);
    launch(kernel, {second});
    synchronize();
    run_out_of_memory(*this, 1024 * mib, stack());
    const Finding finding = lone_failure(*this);
    BOOST_TEST_REQUIRE(finding.places.size() == 3u);
    BOOST_TEST(finding.places[0].first ==
               "held 256 MiB then: cudaMalloc, 1 allocation; 256 MiB of it not used for 101 ms");
    BOOST_TEST(finding.places[1].first == "held 128 MiB then: cudaMalloc, 1 allocation");
    BOOST_TEST(finding.places[2].first == "held 64 MiB then: cudaMalloc, 1 allocation");
    BOOST_TEST(evidence(finding, "held_idle_bytes") == 256 * mib);
    BOOST_TEST(contains(finding.advice, "256 MiB had been used and were idle"));
    BOOST_TEST(contains(finding.advice, "rewrite=spill"));
}

BOOST_AUTO_TEST_CASE(what_the_device_has_is_held_against_what_was_asked_for) {
    const auto asked = [](std::uint64_t bytes) {
        Scenario s(8192 * mib);
        s.allocate(4096 * mib, Memory::device, s.stack());
        s.allocate(4096 * mib, Memory::managed, s.stack());
        run_out_of_memory(s, bytes, s.stack());
        return lone_failure(s);
    };
    const Finding absurd = asked(std::uint64_t{1} << 50), fits = asked(2048 * mib), large = asked(6144 * mib);
    BOOST_TEST(absurd.details.back() == "it is larger than the device's whole memory");
    BOOST_TEST(contains(absurd.advice, "cudaMallocManaged"));
    BOOST_TEST(fits.details.back().starts_with(
                   "the device is large enough for what it held and this allocation together"),
               fits.details.back());
    BOOST_TEST(large.details.back().starts_with("the program held 8 GiB then"), large.details.back());
}

BOOST_FIXTURE_TEST_CASE(a_call_that_another_threads_capture_forbids, Scenario) {
    const auto begin = stack(), wait = stack(), end = stack();
    for (int i = 0; i < 3; ++i) {
        capture(*this, trace::GraphAction::begin_capture, begin);
        synchronize({.stack = wait, .thread = 2, .status = 900});
        capture(*this, trace::GraphAction::end_capture, end, 901);
    }
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 1u); // what fails because of it is no finding of its own
    BOOST_TEST(found[0].stack == wait);
    BOOST_TEST(found[0].advice.starts_with("begin the capture with cudaStreamCaptureModeThreadLocal"),
               found[0].advice);
    BOOST_TEST(
        found[0].summary.ends_with("; this invalidates the capture, and 3 later calls failed because of it"),
        found[0].summary);
    BOOST_TEST(evidence(found[0], "failed") == 3);
    BOOST_TEST(evidence(found[0], "failed_after") == 3);
    const std::vector<std::pair<std::string, ids::StackId>> places{
        {"captured from here on: cudaStreamBeginCapture", ids::StackId(begin)},
        {"cudaStreamEndCapture fails here because of it, 3 times", ids::StackId(end)}};
    BOOST_TEST((found[0].places == places));
}

/// A line of a library, that two calls have ended captures before: neither is told for the other.
BOOST_FIXTURE_TEST_CASE(a_capture_that_different_calls_have_ended, Scenario) {
    const auto one = stack(), other = stack(), end = stack();
    for (const std::uint64_t wait : {one, other}) {
        capture(*this, trace::GraphAction::begin_capture, stack());
        synchronize({.stack = wait, .status = 900});
        capture(*this, trace::GraphAction::end_capture, end, 901);
    }
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 3u);
    BOOST_TEST(found[1].stack == end);
    BOOST_TEST(found[1].places.empty());
    BOOST_TEST(found[1].advice ==
               "fix the call that invalidated the capture: it failed before this one; then capture again");
}

BOOST_FIXTURE_TEST_CASE(a_call_that_the_threads_own_capture_forbids, Scenario) {
    const auto begin = stack(), wait = stack();
    capture(*this, trace::GraphAction::begin_capture, stack(), 0, 0x80, 2); // another's beside it
    capture(*this, trace::GraphAction::begin_capture, begin);
    synchronize({.stack = wait, .status = 900});
    const Finding finding = lone_failure(*this);
    BOOST_TEST(finding.advice == "allocate, wait and query before the capture begins or after it ends");
    BOOST_TEST(place(finding) == begin);
}

BOOST_FIXTURE_TEST_CASE(a_capture_that_is_not_told_of, Scenario) {
    capture(*this, trace::GraphAction::begin_capture, stack());
    capture(*this, trace::GraphAction::end_capture, stack()); // and is over
    synchronize({.stack = stack(), .status = 900});
    synchronize({.stack = stack(), .status = 901});
    capture(*this, trace::GraphAction::begin_capture, stack(), 0, 0x80, 2);
    capture(*this, trace::GraphAction::begin_capture, stack(), 0, 0x90, 3);
    synchronize({.stack = stack(), .status = 900}); // by which of the two?
    const auto found = findings_of(*this);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].summary.starts_with("2 calls of cudaDeviceSynchronize fail, at 2 lines"));
    BOOST_TEST(found[1].places.empty());
    BOOST_TEST(found[0].advice.ends_with(
                   "; if another thread captures, let it begin with cudaStreamCaptureModeThreadLocal"),
               found[0].advice);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_not_permitted_may_stand_in_a_host_function) {
    for (const bool queued : {false, true}) {
        Scenario s;
        trace::HostFunction function;
        function.stack = s.stack();
        if (queued)
            s.call(function, "cuLaunchHostFunc");
        s.copy(mib, 1000, {.stack = s.stack(), .status = 800});
        s.call(function, "cuLaunchHostFunc"); // too late to be the cause
        const Finding finding = lone_failure(s);
        BOOST_TEST(contains(finding.summary, "a call that is not permitted here (cudaErrorNotPermitted)"));
        BOOST_TEST((finding.advice.find("condition variable") != std::string::npos) == queued);
        BOOST_TEST(finding.places.size() == (queued ? 1u : 0u));
        if (queued)
            BOOST_TEST(finding.places[0].second == ids::StackId(function.stack));
    }
}

BOOST_FIXTURE_TEST_CASE(answers_are_no_failures, Scenario) {
    synchronize({.kind = trace::SyncKind::stream_query, .status = 600});
    copy(mib, 1000, {.status = 4}); // the process ends
    nothing_in(*this);
}

BOOST_AUTO_TEST_SUITE_END()
