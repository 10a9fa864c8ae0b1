#include "analyzer/advice/findings.hpp"
/// Findings on memory that the program could do without at its peak.
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_lifetimes,
                      *umadvisor::test::on_rules(
                          "UMA-301 UMA-302 UMA-402 UMA-403 UMA-404 UMA-405 UMA-406 UMA-407 UMA-408 UMA-409"))

using namespace umadvisor;
using namespace umadvisor::test;

struct Program : Scenario {
    using Scenario::Scenario;
    std::uint64_t kernel = function("step");
    std::uint64_t first_line = stack(), second_line = stack();

    std::uint64_t take(std::uint64_t bytes, std::uint64_t line, Memory memory = Memory::device,
                       std::uint64_t duration = 50 * us) {
        return allocate(bytes, memory, {.stack = line, .duration = duration});
    }
    /// Of 64 MiB, unless `bytes` say otherwise.
    std::uint64_t lock(std::uint64_t duration = 20 * ms, Memory memory = Memory::pinned,
                       std::uint64_t bytes = 64 * mib) {
        return take(bytes, first_line, memory, duration);
    }
    /// A hundred milliseconds of kernels on these.
    void use_for_long(std::initializer_list<std::uint64_t> allocations) {
        for (int i = 0; i < 10; ++i) {
            launch(kernel, allocations);
            synchronize({.duration = 10 * ms});
        }
    }
    void copy_to(std::uint64_t allocation, std::uint64_t offset, std::uint64_t bytes,
                 Memory memory = Memory::device) {
        set(allocation, bytes, {.offset = offset, .memory = memory});
    }
    void upload(std::uint64_t from, std::uint64_t to, Memory memory = Memory::pinned,
                bool asynchronous = false) {
        copy(64 * mib, 1'200'000, {.source = memory, .asynchronous = asynchronous, .from = from, .to = to});
    }
    void use_once(std::uint64_t allocation) {
        launch(kernel, {allocation});
        synchronize();
    }
    /// Its waits separate uses; another test asks what they are for.
    Found found() { return findings_of(*this); }
    Finding one(std::string_view rule) { return lone(found(), rule); }
    void nothing_is_found() { nothing_in(found()); }
    /// Memory of the first line that waits until memory of the second is done with.
    std::uint64_t use_early_and_keep_late() {
        const auto late = take(64 * mib, first_line), early = take(32 * mib, second_line);
        use_for_long({early});
        free(early);
        return late;
    }
};

BOOST_FIXTURE_TEST_CASE(allocated_long_before_its_use, Program) {
    const auto late = use_early_and_keep_late();
    use_for_long({late});
    free(late);
    const Finding finding = one("UMA-301");
    BOOST_TEST(finding.stack == first_line);
    BOOST_TEST(finding.saving_bytes == 32 * mib); // the peak is 96 MiB, and 64 are in use later
    BOOST_TEST(finding.saving_ns == 0);
    // What the device has is not told: it may be all of it.
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_used_before_and_after_the_peak_is_held_for_that, Program) {
    const auto held = take(64 * mib, first_line);
    use_for_long({held});
    const auto other = take(32 * mib, second_line);
    use_for_long({other});
    free(other);
    use_for_long({held});
    nothing_is_found();
}

BOOST_FIXTURE_TEST_CASE(memory_that_waits_for_a_kernel_that_uses_all_of_it, Program) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 6; ++i)
        all.push_back(take(64 * mib, first_line));
    now += 100 * ms;
    launch(kernel, {all[0], all[1], all[2], all[3], all[4], all[5]});
    synchronize();
    for (const auto each : all)
        free(each);
    nothing_is_found();
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_in_use_with_as_much_at_another_time, Program) {
    const auto late = use_early_and_keep_late();
    const auto beside = take(32 * mib - 1, second_line);
    use_for_long({late, beside});
    nothing_is_found();
}

BOOST_AUTO_TEST_CASE(idle_memory_counts_as_a_share_of_the_device) {
    const auto of_device = [](std::uint64_t device_bytes) {
        Program p(device_bytes);
        const auto late = p.use_early_and_keep_late();
        p.use_for_long({late});
        return p.found();
    };
    BOOST_TEST(of_device(3200 * mib).size() == 1u);
    BOOST_TEST(of_device(3201 * mib).empty());
}

BOOST_AUTO_TEST_CASE(what_is_spared_is_shared_out_among_all_that_is_idle) {
    Program p;
    const auto a = p.take(64 * mib, p.first_line), b = p.take(64 * mib, p.second_line);
    const auto early = p.take(96 * mib, p.stack());
    p.use_for_long({early});
    p.free(early);
    p.use_for_long({a, b}); // 128 MiB, of 224 at the peak
    const auto found = p.found();
    BOOST_REQUIRE(found.size() == 2u);
    for (const Finding& finding : found)
        BOOST_TEST(finding.saving_bytes == 48 * mib);
}

BOOST_FIXTURE_TEST_CASE(what_is_used_all_the_time_is_not_idle, Program) {
    const auto a = take(64 * mib, first_line), b = take(32 * mib, second_line);
    for (int i = 0; i < 4; ++i) {
        use_for_long({b});
        use_once(a);
    }
    nothing_is_found();
}

BOOST_FIXTURE_TEST_CASE(a_kernel_uses_memory_until_somebody_waits, Program) {
    const auto a = take(64 * mib, first_line);
    launch(kernel, {a});
    const auto b = take(32 * mib, second_line);
    launch(kernel, {b});
    synchronize({.duration = 200 * ms});
    free(a);
    free(b);
    nothing_is_found();
}

BOOST_FIXTURE_TEST_CASE(memory_of_its_size_is_made_beside_what_is_done_with, Program) {
    const auto first = take(64 * mib, first_line);
    use_for_long({first});
    const auto second = take(64 * mib, second_line);
    use_for_long({second});
    free(first);
    free(second);
    const Finding finding = one("UMA-302");
    BOOST_TEST(finding.stack == first_line);
    BOOST_TEST(place(finding) == second_line);
    BOOST_TEST(finding.saving_bytes == 64 * mib);
}

BOOST_FIXTURE_TEST_CASE(rounds_of_it_are_counted_once, Program) {
    for (int i = 0; i < 5; ++i) {
        const auto first = take(64 * mib, first_line);
        use_for_long({first});
        const auto second = take(64 * mib, second_line);
        use_for_long({second});
        free(first);
        free(second);
    }
    BOOST_TEST(one("UMA-302").saving_bytes == 64 * mib);
}

BOOST_FIXTURE_TEST_CASE(never_reached, Program) {
    const auto unused = take(64 * mib, first_line), used = take(32 * mib, second_line);
    use_for_long({used});
    free(unused);
    const Finding finding = one("UMA-402");
    BOOST_TEST(finding.stack == first_line);
    BOOST_TEST(finding.saving_bytes == 64 * mib);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_FIXTURE_TEST_CASE(little_that_is_never_reached, Program) {
    take(mib - 1, first_line);
    use_for_long({take(32 * mib, second_line)});
    nothing_is_found();
    Program q;
    q.take(2 * mib, q.first_line);
    q.use_for_long({q.take(300 * mib, q.second_line)});
    q.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(what_kernels_may_have_reached_unseen_is_not_judged) {
    const auto with = [](const auto& act) {
        Program p;
        const auto unused = p.take(64 * mib, p.first_line), used = p.take(32 * mib, p.second_line);
        p.use_for_long({used});
        act(p);
        p.free(unused);
        p.nothing_is_found();
    };
    with([](Program& p) { p.launch_unknown(); });
    with([](Program& p) { p.launch_graph(); });
    with([](Program& p) { p.pause(); });
    with([](Program& p) { p.builder.counters[p.entry("cuTexObjectCreate", false)] = 1; });
    with([](Program& p) { p.builder.dropped[trace::DropReason::size_cap] = 1; });
}

BOOST_FIXTURE_TEST_CASE(used_in_one_moment, Program) {
    const auto input = take(64 * mib, first_line);
    launch(kernel, {input});
    synchronize({.duration = 10'000});
    use_for_long({take(32 * mib, second_line)});
    free(input);
    const Finding finding = one("UMA-403");
    BOOST_TEST(finding.stack == first_line);
    BOOST_TEST(finding.saving_bytes == 32 * mib);
}

BOOST_AUTO_TEST_CASE(made_anew_and_never_freed) {
    const auto rounds = [](int count, bool closed) {
        Program p;
        p.builder.closed = closed;
        for (int i = 0; i < count; ++i)
            p.use_for_long({p.take(64 * mib, p.first_line)});
        return p.found();
    };
    BOOST_TEST(lone(rounds(9, true), "UMA-404").saving_bytes == 8 * 64 * mib);
    nothing_in(of_rule(rounds(8, true), "UMA-404"));
    nothing_in(of_rule(rounds(9, false), "UMA-404"));
}

BOOST_FIXTURE_TEST_CASE(many_that_stay_in_use_are_not_leaked, Program) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(take(8 * mib, first_line));
        for (const auto each : all)
            launch(kernel, {each});
        synchronize({.duration = 10 * ms});
    }
    nothing_is_found();
}

BOOST_AUTO_TEST_CASE(less_than_half_is_used) {
    const auto reached = [](std::uint64_t bytes, Memory memory, bool by_kernel) {
        Program p;
        const auto stage = p.take(64 * mib, p.first_line, memory);
        p.copy_to(stage, 4 * mib, bytes / 2, memory);
        p.copy_to(stage, 4 * mib + bytes / 2, bytes / 2, memory);
        if (by_kernel)
            p.launch(p.kernel, {stage});
        p.free(stage);
        return p.found();
    };
    for (const Memory memory : {Memory::device, Memory::pinned}) {
        BOOST_TEST(lone(reached(16 * mib, memory, false), "UMA-405").saving_bytes == 48 * mib);
        nothing_in(reached(32 * mib, memory, false));
        nothing_in(reached(16 * mib, memory, true));
    }
}

BOOST_FIXTURE_TEST_CASE(locked_and_never_copied, Program) {
    free(lock(), 5 * ms);
    const Finding finding = one("UMA-406");
    BOOST_TEST(finding.saving_bytes == 64 * mib);
    BOOST_TEST(finding.saving_ns == 0); // the heap's pages cost theirs at the first touch
    Program copied;
    copied.copy_to(copied.take(64 * mib, copied.first_line, Memory::pinned), 0, 64 * mib, Memory::pinned);
    copied.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(locked_again_and_again) {
    const auto rounds = [](int count) {
        Program p;
        for (int i = 0; i < count; ++i) {
            const auto buffer = p.lock(2 * ms, Memory::registered);
            p.copy_to(buffer, 0, 64 * mib, Memory::registered);
            p.synchronize();
            p.free(buffer, ms, p.second_line);
        }
        return p.found();
    };
    const Finding finding = lone(rounds(10), "UMA-407");
    BOOST_TEST(finding.stack != 0u);
    BOOST_TEST(finding.saving_ns == 9 * 3e6, boost::test_tools::tolerance(0.03));
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(rounds(2).size() == 1u);
    nothing_in(rounds(1));
}

Found pinned_once(Program& p) {
    reader::Trace trace(p.path());
    const rules::Profile profile(trace);
    return rules::uma_409.find(profile, own_line);
}

/// 64 MiB are page-locked in 20 ms, copied to the device so many times, and unlocked in 5 ms.
struct Locked : Program {
    std::uint64_t buffer = lock(), data = take(64 * mib, second_line);

    void upload(bool asynchronous = false) {
        Program::upload(buffer, data, Memory::pinned, asynchronous);
        use_once(data);
    }
    Found found() {
        free(buffer, 5 * ms);
        return pinned_once(*this);
    }
};

/// What the first touch of the heap's pages takes, and copies from there take longer; GB/s: nanoseconds.
constexpr double touch_ns = 64 * mib / 4.4, slower_ns = 64 * mib / 10.3 - 64 * mib / 55.5;
const auto exactly = boost::test_tools::tolerance(0.001);

BOOST_FIXTURE_TEST_CASE(locked_for_one_copy, Locked) {
    upload();
    const Finding finding = lone(found(), "UMA-409");
    BOOST_TEST(finding.stack == first_line);
    BOOST_TEST(finding.saving_ns == 25e6 - touch_ns - slower_ns, exactly);
    BOOST_TEST((finding.confidence == Confidence::low)); // a sixth of the time of page-locking
}

BOOST_FIXTURE_TEST_CASE(locked_for_one_copy_and_left_to_the_end, Locked) {
    upload();
    const Finding finding = lone(pinned_once(*this), "UMA-409");
    BOOST_TEST(finding.saving_ns == 20e6 + 64 * mib / 15.0 - touch_ns - slower_ns, exactly);
    BOOST_REQUIRE(finding.details.size() == 1u);
}

/// A GiB that asynchronous copies need.
Found locked_block(std::uint64_t lock_ns, std::uint64_t bytes, Memory memory = Memory::pinned,
                   std::uint64_t later_ns = 0) {
    Program p;
    const auto buffer = p.allocate(bytes, memory, {.stack = p.first_line, .duration = lock_ns});
    const auto data = p.take(64 * mib, p.second_line);
    p.Program::upload(buffer, data, memory, true);
    p.use_once(data);
    p.now += later_ns;
    p.synchronize();
    return pinned_once(p);
}

BOOST_AUTO_TEST_CASE(one_thread_locks_a_large_block) {
    const Finding finding = lone(locked_block(400 * ms, 1024 * mib), "UMA-409");
    BOOST_TEST(finding.saving_ns == 400e6 - 1024 * mib / 4.4 / 4 - 16 * 6.1e6 - 60e3, exactly);
    BOOST_TEST(contains(finding.advice, "several threads"));
    nothing_in(locked_block(180 * ms, 1024 * mib)); // no slower than by many threads
    nothing_in(locked_block(90 * ms, 255 * mib));   // not large
    nothing_in(locked_block(400 * ms, 1024 * mib, Memory::pinned, 8'000 * ms)); // little of the run
    nothing_in(locked_block(400 * ms, 1024 * mib, Memory::registered));         // its pages were there
}

BOOST_AUTO_TEST_CASE(locking_that_copies_or_kernels_need) {
    Locked often, mapped, overlapped, in_graph;
    for (int i = 0; i < 100; ++i)
        often.upload();
    nothing_in(often.found());
    mapped.upload(); // a kernel reads it across the link
    mapped.use_once(mapped.buffer);
    nothing_in(mapped.found());
    overlapped.upload(true);
    nothing_in(overlapped.found());
    in_graph.upload();
    in_graph.launch_graph();
    nothing_in(in_graph.found());
    nothing_in(Locked().found()); // never copied: UMA-406
}

BOOST_AUTO_TEST_CASE(registered_memory_was_touched_before) {
    const auto registered = [](std::uint64_t lock_ns) {
        Program p;
        const auto data = p.take(64 * mib, p.second_line), buffer = p.lock(lock_ns, Memory::registered);
        p.upload(buffer, data, Memory::registered);
        p.free(buffer, ms);
        return pinned_once(p);
    };
    const Finding finding = lone(registered(19 * ms), "UMA-409");
    BOOST_TEST(finding.saving_ns == 20e6 - slower_ns, exactly);
    BOOST_TEST((finding.confidence == Confidence::medium));
    nothing_in(registered(4 * ms));
}

BOOST_AUTO_TEST_CASE(memory_locked_anew_for_one_copy_each_is_one_finding) {
    Program p;
    const auto data = p.take(64 * mib, p.second_line);
    for (int i = 0; i < 3; ++i) {
        const auto buffer = p.lock();
        p.upload(buffer, data);
        p.use_once(data);
        p.free(buffer, 5 * ms);
    }
    auto found = p.found();
    std::erase_if(found, [&p](const Finding& finding) { return finding.stack != p.first_line; });
    const Finding finding = lone(found, "UMA-407");
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front().rule->id == "UMA-409");
}

BOOST_AUTO_TEST_CASE(room_in_pieces) {
    const auto fails = [](std::uint64_t asked, std::uint64_t freed, std::uint64_t live, bool managed) {
        Program p(1024 * mib);
        if (managed)
            p.allocate(mib, Memory::managed);
        p.free(p.allocate(freed, Memory::device));
        p.allocate(live, Memory::device);
        p.allocate(asked, Memory::device, {.status = 2});
        return of_rule(p.found(), "UMA-408");
    };
    const Finding finding = lone(fails(256 * mib, 512 * mib, 512 * mib, false), "UMA-408");
    BOOST_TEST(finding.saving_bytes == 256 * mib);
    BOOST_TEST((finding.confidence == Confidence::low));
    nothing_in(fails(512 * mib, 512 * mib, 512 * mib, false)); // full
    nothing_in(fails(256 * mib, 128 * mib, 512 * mib, false)); // never was so much
    nothing_in(fails(256 * mib, 512 * mib, 512 * mib, true));  // where managed memory is is not told
}

BOOST_AUTO_TEST_CASE(failures_of_one_line_are_one_finding) {
    Scenario s(1024 * mib);
    s.free(s.allocate(512 * mib, Memory::device));
    s.allocate(512 * mib, Memory::device);
    for (const std::uint64_t times : {1, 2}) { // once from one way to the line, twice from another
        const std::uint64_t stack = s.stack();
        for (std::uint64_t i = 0; i < times; ++i)
            s.allocate(times * 128 * mib, Memory::device, {.stack = stack, .status = 2});
    }
    reader::Trace trace(s.path());
    const rules::Profile profile(trace);
    const auto of_line = [&profile](const rules::LineOf& line_of) {
        return of_rule(advice::find_all(profile, line_of).all, "UMA-408");
    };
    BOOST_TEST(of_line(own_line).size() == 2u);
    const Finding finding = lone(of_line([](ids::StackId) { return ids::StackId(1); }), "UMA-408");
    BOOST_TEST(finding.saving_bytes == 256 * mib);
    BOOST_TEST(contains(finding.summary, "failed because memory ran out, 3 times"));
}

BOOST_AUTO_TEST_CASE(those_that_save_time_come_first) {
    Program p;
    p.use_for_long({p.take(8 * mib, p.second_line)});
    p.take(64 * mib, p.first_line);
    for (int i = 0; i < 6; ++i)
        p.free(p.lock(20 * ms, Memory::pinned, mib), ms);
    p.synchronize();
    const auto found = p.found();
    BOOST_REQUIRE(found.size() >= 2u);
    BOOST_TEST(found[0].rule->id == "UMA-407");
    BOOST_TEST(found[1].rule->id == "UMA-402");
}

BOOST_AUTO_TEST_SUITE_END()
