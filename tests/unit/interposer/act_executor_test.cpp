#include "interposer/act/devices.hpp"
#include "interposer/act/stand_ins.hpp"
#include "interposer/record/recorder.hpp"
#include "observe_doubles.hpp"
#include "tests/unit/in_threads.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace umadvisor::act {
extern constinit Action looking;
}

BOOST_AUTO_TEST_SUITE(act_executor)

using namespace umadvisor;
using namespace umadvisor::observe;
using act::Action;
using attach::Entry;

namespace {

constexpr std::uint64_t mib = 1u << 20;

} // namespace

/// Modes live as long as the process: each test switches on what it needs and leaves no allocation behind.
struct Acting {
    Acting() { install_driver(); }
    ~Acting() {
        for (const Allocation& allocation : made) {
            erase_allocation(allocation.address);
            act::notify_started<&Action::on_free>(allocation);
        }
    }
    void with(bool prefetch, bool rewrite, std::uint64_t pretend = 0) {
        runtime::Options options{.pretend_bytes = pretend};
        runtime::parse_actions(prefetch ? "prefetch" : "", options);
        runtime::parse_actions(rewrite ? "rewrite=all" : "", options);
        act::initialize(options);
        act::looking.on = false; // a page fault of the test would have it look for memory that is nowhere
    }
    Allocation allocate(std::uint64_t bytes, bool rewritten = false) {
        static std::uint64_t address = 0x6000'0000'0000;
        address += 1ull << 36;
        made.push_back(made_allocation(address, bytes, trace::Memory::managed));
        made.back().rewritten = rewritten;
        allocations().insert(made.back());
        if (rewritten)
            act::reserve_rewritten(0, bytes, {UINT64_MAX, false});
        return made.back();
    }
    static bool is_placed(const Allocation& allocation) {
        Allocation found{};
        return allocations().find(allocation.address, found) && found.kept_on_device;
    }
    static Touched touching(std::initializer_list<Allocation> all) {
        Touched touched{.scanned = true};
        for (const Allocation& allocation : all)
            touched.managed[touched.managed_count++] = allocation;
        return touched;
    }
    void launch(const Touched& touched, CUstream stream = reinterpret_cast<CUstream>(0x50)) {
        act::LaunchScope launch{.touched = touched, .launched = true};
        launch.stream = stream;
        launch.stack = record::launch_stack();
        act::notify<&Action::before_launch>(launch);
        act::notify<&Action::after_launch>(launch);
    }
    static void place(const Allocation& allocation) {
        act::notify_started<&Action::on_allocation>(allocation, 0u);
    }
    /// Whether an action answers that the program asks for device memory.
    bool rewrites(std::size_t bytes, CUdeviceptr* out) {
        act::AllocationScope asked{answer = {}, out, bytes};
        return act::notify<&Action::instead_of_allocation>(asked);
    }
    bool spills(std::size_t bytes, CUdeviceptr* out) {
        act::AllocationScope asked{answer = {}, out, bytes};
        return act::notify<&Action::instead_of_refusal>(asked);
    }
    trace::Alloc answer;
    std::vector<Allocation> made;
};

BOOST_FIXTURE_TEST_SUITE(executor, Acting)

BOOST_AUTO_TEST_CASE(nothing_happens_before_anything_is_asked_for) { // the first test: modes stay on
    CUdeviceptr out = 5;
    BOOST_TEST(!rewrites(100, &out));
    BOOST_TEST(!spills(100, &out));
    BOOST_TEST(out == 5u);
    launch(touching({allocate(4 * mib)}));
    std::size_t free = 10, total = 20;
    act::adjust_memory_info(&free, &total);
    BOOST_TEST(free == 10u);
    BOOST_TEST(total == 20u);
    BOOST_TEST(driver().prefetches == 0u);
    BOOST_TEST(driver().managed_calls == 0u);
}

BOOST_AUTO_TEST_CASE(without_concurrent_managed_access_both_modes_are_refused) {
    driver().concurrent_managed_access = 0;
    with(true, true);
    check_noted("concurrentManagedAccess");
    CUdeviceptr out = 5;
    BOOST_TEST(!rewrites(100, &out));
    launch(touching({allocate(4 * mib)}));
    BOOST_TEST(driver().prefetches == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_done_where_host_and_device_share_one_memory) {
    driver().integrated = driver().pageable = driver().coherent = 1;
    with(true, true);
    check_noted("share one memory");
    launch(touching({allocate(4 * mib)}));
    BOOST_TEST(driver().prefetches == 0u);
}

BOOST_AUTO_TEST_CASE(a_coherent_device_is_prefetched_to_and_rewrites_nothing_but_what_spills) {
    driver().pageable = driver().coherent = 1;
    with(true, true);
    check_noted("--act rewrite is refused");
    CUdeviceptr out = 5;
    BOOST_TEST(!rewrites(100, &out));
    launch(touching({allocate(4 * mib)}));
    BOOST_TEST(driver().prefetches == 1u);
}

BOOST_AUTO_TEST_CASE(a_launch_gets_what_it_misses_on_its_stream_once) {
    with(true, false);
    const Allocation a = allocate(4 * mib), b = allocate(2 * mib);
    const auto stream = reinterpret_cast<CUstream>(0x50);
    launch(touching({a, b}), stream);
    BOOST_TEST(driver().prefetches == 2u);
    BOOST_TEST(driver().prefetch_stream == stream);
    BOOST_TEST(driver().relaxed_at_every_call);
    BOOST_REQUIRE(recorder().prefetches.size() == 2u);
    const trace::Prefetch& record = recorder().prefetches[0];
    BOOST_TEST((record.origin == trace::Origin::umadvisor));
    BOOST_TEST((record.reason == trace::Reason::not_resident));
    BOOST_TEST((record.location == trace::Location::device));
    BOOST_TEST(record.address == a.address);
    BOOST_TEST(record.bytes == 4 * mib);
    BOOST_TEST(number(record.allocation) == a.id);
    BOOST_TEST(number(record.stream) == 0x50u);
    launch(touching({a, b}), stream);
    BOOST_TEST(driver().prefetches == 2u);
}

BOOST_AUTO_TEST_CASE(launches_that_could_not_be_scanned_are_left_alone_and_said_so_once) {
    with(true, false);
    allocate(4 * mib);
    launch(Touched{});
    launch(Touched{});
    BOOST_TEST(driver().prefetches == 0u);
    check_noted("12.4");
}

BOOST_AUTO_TEST_CASE(the_programs_own_prefetch_counts) {
    with(true, false);
    const Allocation a = allocate(4 * mib);
    trace::Prefetch own{.address = a.address, .bytes = 2 * mib, .location = trace::Location::device};
    act::notify<&Action::on_prefetch>(own);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 1u);
    BOOST_TEST(recorder().prefetches[0].address == a.address + 2 * mib);
    own.location = trace::Location::host;
    act::notify<&Action::on_prefetch>(own);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 2u);
    BOOST_TEST(recorder().prefetches[1].address == a.address);
    BOOST_TEST(recorder().prefetches[1].bytes == 2 * mib);
}

BOOST_AUTO_TEST_CASE(what_the_program_wants_elsewhere_is_left_there) {
    with(true, false);
    const Allocation a = allocate(8 * mib);
    trace::Advise wish{.address = a.address + 2 * mib,
                       .bytes = 4 * mib,
                       .advice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                       .location = trace::Location::host};
    act::notify<&Action::on_advice>(wish);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 2u);
    BOOST_TEST(recorder().prefetches[0].bytes == 2 * mib);
    BOOST_TEST(recorder().prefetches[1].address == a.address + 6 * mib);
    act::notify<&Action::on_move>(a.id, a.address, a.bytes); // leaves it so
    launch(touching({a}));
    BOOST_TEST(recorder().prefetches.size() == 4u);
    wish.location = trace::Location::device;
    act::notify<&Action::on_advice>(wish);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 5u);
    BOOST_TEST(recorder().prefetches[4].bytes == 4 * mib);
    act::notify<&Action::on_attachment>(trace::Attach{.address = a.address, .flags = CU_MEM_ATTACH_HOST});
    launch(touching({a}));
    BOOST_TEST(recorder().prefetches.size() == 5u);
}

BOOST_AUTO_TEST_CASE(what_a_copy_reached_is_looked_after_again) {
    with(true, false);
    const Allocation a = allocate(6 * mib);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 1u);
    act::notify<&Action::on_move>(a.id, a.address + 2 * mib + 100, 100u);
    launch(touching({a}));
    BOOST_REQUIRE(recorder().prefetches.size() == 2u);
    BOOST_TEST(recorder().prefetches[1].address == a.address + 2 * mib);
    BOOST_TEST(recorder().prefetches[1].bytes == 2 * mib);
    act::notify<&Action::on_move>(0u, 0u, 100u); // no allocation of ours
}

BOOST_AUTO_TEST_CASE(either_abi_serves) {
    with(true, false);
    launch(touching({allocate(2 * mib)}));
    BOOST_TEST(driver().prefetch_abi == 1);
    remove_entry(Entry::cuMemPrefetchAsync);
    launch(touching({allocate(2 * mib)}));
    BOOST_TEST(driver().prefetch_abi == 2);
}

BOOST_AUTO_TEST_CASE(nothing_is_done_during_capture) {
    with(true, true);
    driver().capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const Allocation a = allocate(2 * mib);
    launch(touching({a}));
    place(allocate(2 * mib, true));
    BOOST_TEST(driver().prefetches == 0u);
    BOOST_TEST(driver().advices == 0u);
    driver().capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    launch(touching({a})); // a captured launch has not run: it is still missing
    BOOST_TEST(driver().prefetches == 1u);
}

BOOST_AUTO_TEST_CASE(a_pretended_card_is_never_overfilled) {
    constexpr std::uint64_t card = 32 * mib;
    with(true, false, card);
    std::uint64_t bytes = 0, left = 0;
    for (int i = 0; i < 4; ++i) { // the fourth has room only where others leave
        launch(touching({allocate(10 * mib)}));
        for (const trace::Prefetch& record : recorder().prefetches) {
            const bool leaves = record.location == trace::Location::host;
            BOOST_TEST((record.reason == (leaves ? trace::Reason::makes_room : trace::Reason::not_resident)));
            left += leaves ? record.bytes : 0;
            bytes += leaves ? 0 - record.bytes : record.bytes;
            BOOST_TEST(bytes <= card);
        }
        recorder().prefetches.clear();
    }
    BOOST_TEST(left > 0u);
    BOOST_TEST(bytes > card / 2);
    launch(touching({allocate(2 * card)}));
    for (const trace::Prefetch& record : recorder().prefetches)
        bytes += record.location == trace::Location::host ? 0 - record.bytes : record.bytes;
    BOOST_TEST(bytes <= card);
    with(true, false, 0);
}

/// In a loop over more than fits, one of whose launches is on another stream.
BOOST_AUTO_TEST_CASE(what_is_brought_ahead_holds_up_no_other_stream) {
    with(true, false, 24 * mib);
    const auto one = reinterpret_cast<CUstream>(0x50), other = reinterpret_cast<CUstream>(0x51);
    std::vector<Allocation> all;
    for (int i = 0; i < 5; ++i)
        all.push_back(allocate(6 * mib));
    const auto launch_on = [&](const Allocation& allocation, CUstream stream) {
        launch(touching({allocation}), stream);
    };
    for (int round = 0; round < 6; ++round)
        for (const Allocation& each : all)
            launch_on(each, one);
    const auto ahead = [&] {
        return std::count_if(recorder().prefetches.begin(), recorder().prefetches.end(),
                             [](const auto& each) { return each.reason == trace::Reason::next_launch; });
    };
    BOOST_TEST(ahead() > 0);
    const auto waits = [&](CUstream stream) {
        return std::count(driver().wait_streams.begin(), driver().wait_streams.end(), stream);
    };
    BOOST_TEST(waits(one) > 0);
    BOOST_TEST(waits(FakeDriver::own_stream) == waits(one) + 1); // the last is still to come
    const auto before = waits(one);
    launch_on(all[0], other);
    BOOST_TEST(waits(other) == 0);
    launch_on(all[1], one);
    BOOST_TEST(waits(one) == before + 1);

    // What cannot follow the launch is not brought, and not taken for done.
    driver().event_answer = CUDA_ERROR_OUT_OF_MEMORY;
    recorder().prefetches.clear();
    for (int round = 0; round < 4; ++round)
        for (const Allocation& each : all)
            launch_on(each, one);
    BOOST_TEST(ahead() == 0);
    BOOST_TEST(recorder().prefetches.size() >= 8u); // two of five have no room
    with(true, false, 0);
}

BOOST_AUTO_TEST_CASE(device_memory_becomes_managed_and_is_placed) {
    with(false, true);
    CUdeviceptr out = 0;
    BOOST_TEST(rewrites(2 * mib, &out));
    BOOST_TEST(answer.status == CUDA_SUCCESS);
    BOOST_TEST((answer.memory == trace::Memory::managed));
    BOOST_TEST(out != 0u);
    act::remove_rewritten(0, 2 * mib);
    BOOST_TEST(!rewrites(0, &out));
    BOOST_TEST(!rewrites(100, nullptr));
    place(allocate(2 * mib, true));
    BOOST_REQUIRE(driver().advice.size() == 1u);
    BOOST_TEST((driver().advice[0] == CU_MEM_ADVISE_SET_PREFERRED_LOCATION));
    BOOST_TEST(driver().prefetch_stream == CU_STREAM_PER_THREAD);
    BOOST_REQUIRE(recorder().advices.size() == 1u);
    BOOST_TEST((recorder().advices[0].reason == trace::Reason::place_rewritten));
    BOOST_TEST((recorder().prefetches[0].origin == trace::Origin::umadvisor));
    BOOST_TEST(!is_placed(made.back())); // prefetching is on and goes by where it is, launch by launch
}

BOOST_AUTO_TEST_CASE(oversubscription_takes_preferred_locations_back) {
    with(false, true, 8 * mib);
    place(allocate(4 * mib, true));
    place(allocate(4 * mib, true));
    BOOST_TEST(driver().advice.size() == 2u);
    for (const Allocation& each : made)
        allocations().set_kept_on_device(each.address, true);
    place(allocate(2 * mib, true));
    for (const Allocation& each : made)
        BOOST_TEST(!is_placed(each));
    BOOST_REQUIRE(driver().advice.size() == 4u);
    BOOST_TEST((driver().advice[2] == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION));
    BOOST_TEST((driver().advice[3] == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION));
    BOOST_TEST(driver().prefetches == 2u);
    place(allocate(2 * mib, true)); // said and done once
    BOOST_TEST(driver().advice.size() == 4u);
    std::size_t free = 100 * mib, total = 1024 * mib;
    act::adjust_memory_info(&free, &total);
    BOOST_TEST(total == 8 * mib);
    BOOST_TEST(free == 0u);
    with(false, true, 0);
}

BOOST_AUTO_TEST_CASE(memory_info_falls_by_what_was_rewritten) {
    with(false, true);
    const Allocation a = allocate(4 * mib, true);
    place(a);
    std::size_t free = 1023 * mib, total = 1024 * mib; // it has not been on the device yet
    act::adjust_memory_info(&free, &total);
    BOOST_TEST(free == 1020 * mib);
    BOOST_TEST(total == 1024 * mib);
    free = 1000 * mib; // now it has
    act::adjust_memory_info(&free, nullptr);
    BOOST_TEST(free == 1000 * mib);
    act::adjust_memory_info(nullptr, &total);
    BOOST_TEST(total == 1024 * mib);
    made.clear();
    act::notify_started<&Action::on_free>(a);
    Allocation plain = made_allocation(0x5000'0000'0000, 100 * mib, trace::Memory::device);
    plain.fills_card = true;
    place(plain); // the driver knows of it, and of what became of it
    free = 1000 * mib;
    act::adjust_memory_info(&free, nullptr);
    BOOST_TEST(free == 1000 * mib);
    act::notify_started<&Action::on_free>(plain);
    free = 1000 * mib;
    act::adjust_memory_info(&free, &total);
    BOOST_TEST(free == 1000 * mib);
}

BOOST_AUTO_TEST_CASE(threads_may_launch_together) {
    with(true, false);
    std::vector<Allocation> all;
    for (int i = 0; i < 16; ++i)
        all.push_back(allocate(2 * mib));
    // The fake driver is not thread-safe where it counts, so no prefetch may be left to do.
    for (const Allocation& allocation : all)
        launch(touching({allocation}));
    test::in_threads(3, [&](std::size_t thread) {
        for (std::size_t i = 0; i < 2000; ++i) {
            launch(touching({all[i % 16], all[(i + thread) % 16]}));
            act::notify<&Action::after_wait>(act::Wait{act::Wait::For::everything, 0, 0, 0});
        }
    });
    BOOST_TEST(driver().prefetches == 16u);
}

BOOST_AUTO_TEST_CASE(
    a_mode_that_keeps_failing_switches_itself_off) { // near the end: it stays off until asked for anew
    record::detail::taking_page.keeps = true;        // there is a trace
    with(true, true);
    driver().prefetch_answer = CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 12; ++i)
        launch(touching({allocate(2 * mib)}));
    BOOST_TEST(driver().prefetches < 12u);
    BOOST_TEST(recorder().notes.size() == 1u);
    driver().managed_answer = CUDA_ERROR_OUT_OF_MEMORY; // an answer, and no failure of ours
    CUdeviceptr out = 7;
    const std::uint64_t before = driver().managed_calls;
    for (int i = 0; i < 12; ++i)
        BOOST_TEST(!rewrites(100, &out));
    BOOST_TEST(driver().managed_calls == before + 12);
    driver().managed_answer = CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < 12; ++i)
        BOOST_TEST(!rewrites(100, &out));
    BOOST_TEST(out == 7u);
    BOOST_TEST(driver().managed_calls < before + 24);
    BOOST_TEST(recorder().notes.size() == 2u);
}

BOOST_AUTO_TEST_CASE(rewriting_warns_of_hmm) {
    driver().pageable = 1;
    with(false, true);
    BOOST_REQUIRE(!recorder().notes.empty());
    BOOST_TEST(recorder().notes[0].find("1223") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
