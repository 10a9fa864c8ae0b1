#include "interposer/observe/pagemap.hpp"
#include "managed_like.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_residency)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Runs present(Pagemap& pagemap, std::uint64_t first, std::uint64_t last, std::uint64_t* reached = nullptr) {
    Runs runs;
    const std::uint64_t end = pagemap.visit_present(
        first, last,
        [](void* to, std::uint64_t from, std::uint64_t until) {
            Runs& all = *static_cast<Runs*>(to);
            if (!all.empty() && all.back().second == from)
                all.back().second = until;
            else
                all.emplace_back(from, until);
        },
        &runs);
    if (reached != nullptr)
        *reached = end;
    return runs;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pagemap)

BOOST_AUTO_TEST_CASE(mapped_pages_are_told_by_both_ways_alike) {
    ManagedLike memory(256);
    memory.touch(0, 256);
    memory.leave(16, 100);
    memory.leave(200, 1);
    const Runs expected{{memory.address(0), memory.address(16)},
                        {memory.address(116), memory.address(200)},
                        {memory.address(201), memory.address(256)}};
    Pagemap pagemap;
    BOOST_REQUIRE(pagemap.trouble() == nullptr);
    std::uint64_t reached = 0;
    const Runs by_default = present(pagemap, memory.address(0), memory.address(256), &reached);
    BOOST_TEST((by_default == expected));
    BOOST_TEST(reached == memory.address(256));
    pagemap.forbid_scan();
    const Runs by_entries = present(pagemap, memory.address(0), memory.address(256), &reached);
    BOOST_TEST((by_entries == expected));
    BOOST_TEST(reached == memory.address(256));
}

BOOST_AUTO_TEST_CASE(memory_of_no_file_is_seen_too) {
    constexpr std::size_t bytes = 64 * 4096;
    char* const at =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(at, bytes, MADV_NOHUGEPAGE);
    const auto first = reinterpret_cast<std::uint64_t>(at);
    madvise(at + 8 * 4096, 4 * 4096, MADV_POPULATE_WRITE);
    Pagemap pagemap;
    BOOST_TEST((present(pagemap, first, first + bytes) == Runs{{first + 8 * 4096, first + 12 * 4096}}));
    munmap(at, bytes);
}

BOOST_AUTO_TEST_CASE(very_many_runs_stop_a_look_early_and_say_where) {
    ManagedLike memory(65536);
    memory.touch(0, 65536);
    for (std::uint64_t page = 0; page < 65536; page += 2)
        memory.leave(page, 1);
    Pagemap pagemap;
    std::uint64_t reached = 0;
    const Runs runs = present(pagemap, memory.address(0), memory.address(65536), &reached);
    BOOST_TEST(runs.size() >= 1000u);
    BOOST_TEST((reached - memory.address(0)) / 8192 == runs.size());
    BOOST_TEST(reached <= memory.address(65536));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(residency_sampler, SamplerDrive)

BOOST_AUTO_TEST_CASE(a_round_trip_between_host_and_device_shows) {
    ManagedLike memory(512);
    const Touched touched = touching({&memory});
    for (int round = 0; round < 3; ++round) {
        memory.touch(0, 512);
        sampler->before_launch(touched);
        memory.leave(0, 512); // the kernel
        memory.touch(3, 16);
        sampler->after_synchronize();
        sampler->after_synchronize(); // nothing was launched since
    }
    BOOST_REQUIRE(recorder().residency.size() == 6u);
    for (std::size_t i = 0; i < 6; ++i) {
        const trace::Residency& sample = recorder().residency[i];
        BOOST_TEST(sample.allocation == memory.allocation.id);
        BOOST_TEST(sample.pages == 512u);
        BOOST_TEST(sample.host_pages == (i % 2 == 0 ? 512u : 16u));
        BOOST_TEST((sample.moment == (i % 2 == 0 ? trace::SampleMoment::before_launch
                                                 : trace::SampleMoment::after_synchronize)));
    }
}

BOOST_AUTO_TEST_CASE(what_the_driver_says_has_not_moved_is_not_looked_at_again) {
    ManagedLike memory(512);
    memory.touch(0, 512);
    managed_watch().begin();
    driver().managed_activity = 7;
    std::size_t looks = 0; // that were recorded before a launch
    const auto cycle = [&] {
        recorder().clear();
        sampler->before_launch(touching({&memory}));
        looks = recorder().residency.size();
        sampler->after_synchronize();
        BOOST_TEST_REQUIRE(recorder().residency.size() == looks + 1);
        BOOST_TEST(recorder().residency.back().pages == 512u);
        return recorder().residency.back().host_pages;
    };
    BOOST_TEST(cycle() == 512u);
    BOOST_TEST(looks == 1u);
    memory.leave(0, 500); // unknown to the driver
    BOOST_TEST(cycle() == 512u);
    BOOST_TEST(looks == 0u);
    ++driver().managed_activity;
    BOOST_TEST(cycle() == 12u);
    memory.leave(500, 12);
    driver().managed_activity = 0; // nobody watches any more
    BOOST_TEST(cycle() == 0u);
    memory.touch(0, 512);
    BOOST_TEST(cycle() == 512u);
}

BOOST_AUTO_TEST_CASE(launches_without_a_synchronisation_between_are_one_look) {
    ManagedLike memory(16), other(16);
    sampler->before_launch(touching({&memory}));
    sampler->before_launch(touching({&memory}));
    sampler->before_launch(touching({&memory, &other}));
    BOOST_TEST(recorder().residency.size() == 2u);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 4u);
}

BOOST_AUTO_TEST_CASE(without_managed_memory_nothing_happens) {
    sampler->before_launch(Touched{});
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.empty());
}

BOOST_AUTO_TEST_CASE(a_launch_that_could_not_be_scanned_may_reach_all_managed_memory) {
    ManagedLike memory(16), other(16), pinned(16, trace::Memory::pinned);
    Touched scanned;
    scanned.scanned = true;
    sampler->before_launch(scanned);
    BOOST_TEST(recorder().residency.empty());
    sampler->before_launch(Touched{});
    sampler->before_launch(Touched{}); // one look until the next synchronisation
    BOOST_TEST(recorder().residency.size() == 2u);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 4u);
    sampler->before_launch(Touched{});
    BOOST_TEST(recorder().residency.size() == 6u);
}

BOOST_AUTO_TEST_CASE(freed_memory_is_not_looked_at) {
    auto memory = std::make_unique<ManagedLike>(16);
    sampler->before_launch(touching({memory.get()}));
    memory.reset();
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_came_to_stand_at_a_freed_address_is_not_taken_for_it) {
    ManagedLike memory(16);
    sampler->before_launch(touching({&memory}));
    Allocation other = memory.allocation;
    other.id = allocations().next_id();
    allocations().insert(other);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 1u);
}

BOOST_AUTO_TEST_CASE(no_allowance_no_look) {
    ManagedLike memory(16);
    sampler->set_allowance(0);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(recorder().residency.empty());
}

BOOST_AUTO_TEST_CASE(the_listener_hears_what_was_looked_at_and_what_the_host_holds) {
    static Runs looked, host;
    looked.clear();
    host.clear();
    static constexpr ResidencyListener listener{
        [](const Allocation&, std::uint64_t first, std::uint64_t last) noexcept {
            looked.emplace_back(first, last);
        },
        [](const Allocation&, std::uint64_t first, std::uint64_t last) noexcept {
            host.emplace_back(first, last);
        },
        [](const Allocation& allocation, const LookOccasion&) noexcept { return LookRange::of(allocation); }};
    ManagedLike memory(64);
    memory.touch(32, 16);
    sampler->add_listener(&listener);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST((looked == Runs{{memory.address(0), memory.address(64)}}));
    BOOST_TEST((host == Runs{{memory.address(32), memory.address(48)}}));
    host.clear();
    sampler->after_synchronize();
    Allocation small = memory.allocation; // the driver puts small ones together
    small.address = memory.address(40) + 512;
    small.bytes = 256;
    small.id = allocations().next_id();
    Touched touched;
    touched.managed[touched.managed_count++] = small;
    sampler->before_launch(touched);
    BOOST_TEST((host.back() == Runs::value_type{small.address, small.address + 256}));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_a_look_that_the_listener_has_no_use_for) {
    static std::uint64_t wanted = 0;
    static std::vector<LookOccasion> asked;
    asked.clear();
    static constexpr ResidencyListener listener{
        [](const Allocation&, std::uint64_t, std::uint64_t) noexcept {},
        [](const Allocation&, std::uint64_t, std::uint64_t) noexcept {},
        [](const Allocation& allocation, const LookOccasion& occasion) noexcept {
            asked.push_back(occasion);
            return allocation.id == wanted && occasion.moment == trace::SampleMoment::before_launch
                       ? LookRange::of(allocation)
                       : LookRange{};
        }};
    ManagedLike memory(16), other(16);
    wanted = other.allocation.id;
    sampler->add_listener(&listener);
    sampler->before_launch(touching({&memory, &other}));
    BOOST_REQUIRE(recorder().residency.size() == 1u);
    BOOST_TEST(recorder().residency[0].allocation == wanted);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 1u);
    for (const Allocation* each : {&memory.allocation, &other.allocation}) {
        sampler->before_prefetch(*each); // the report's concern
        sampler->before_free(*each);
    }
    BOOST_TEST(recorder().residency.size() == 1u);
    BOOST_REQUIRE(asked.size() == 4u);
    memory.touch(0, 16); // faults
    sampler->before_launch(touching({&memory}));
    BOOST_REQUIRE(asked.size() == 5u);
    BOOST_TEST(asked[0].host_faults == asked[1].host_faults);
    BOOST_TEST(asked[4].host_faults >= asked[0].host_faults + 16);
}

BOOST_AUTO_TEST_CASE(a_look_goes_no_farther_than_the_listener_wants) {
    static LookRange wanted;
    static Runs looked;
    looked.clear();
    static constexpr ResidencyListener listener{
        .looking = [](const Allocation&, std::uint64_t first,
                      std::uint64_t last) noexcept { looked.emplace_back(first, last); },
        .curious = [](const Allocation&, const LookOccasion&) noexcept { return wanted; }};
    ManagedLike memory(64);
    memory.touch(0, 64);
    wanted = {memory.address(16) + 100, memory.address(17) + 100};
    sampler->add_listener(&listener);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST((looked == Runs{{memory.address(16), memory.address(18)}}));
    BOOST_REQUIRE(recorder().residency.size() == 1u);
    BOOST_TEST(recorder().residency[0].offset == 16u * 4096);
    BOOST_TEST(recorder().residency[0].pages == 2u);
    BOOST_TEST(recorder().residency[0].host_pages == 2u);
}

BOOST_AUTO_TEST_CASE(two_listeners_hear_of_the_same_looks) {
    static std::vector<std::uint64_t> contents;
    static unsigned asked, looked;
    contents.clear();
    asked = looked = 0;
    static constexpr ResidencyListener first{
        .looking = [](const Allocation&, std::uint64_t, std::uint64_t) noexcept { ++looked; },
        .curious = [](const Allocation& allocation,
                      const LookOccasion&) noexcept { return LookRange::of(allocation); }};
    static constexpr ResidencyListener second{
        .curious =
            [](const Allocation&, const LookOccasion&) noexcept {
                ++asked;
                return LookRange{};
            },
        .came_back = [](const Allocation&, std::uint64_t content) noexcept { contents.push_back(content); }};
    ManagedLike memory(16);
    memory.touch(0, 16);
    for (const ResidencyListener* const each : {&first, &first, &second}) // whoever is there is not added again
        sampler->add_listener(each);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(contents.empty()); // it has never been away
    memory.leave(0, 16);
    sampler->after_synchronize();
    memory.touch(0, 16);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(asked == 3u);
    BOOST_TEST(looked == 3u);
    BOOST_REQUIRE(contents.size() == 1u);
    BOOST_TEST(contents[0] == recorder().residency.back().content);
    BOOST_TEST(contents[0] != 0u);
}

BOOST_AUTO_TEST_CASE(what_was_brought_to_the_host_before_the_wait_was_over_has_come_back) {
    static bool brought;
    static unsigned came;
    brought = false, came = 0;
    static constexpr ResidencyListener listener{
        .curious = [](const Allocation& allocation,
                      const LookOccasion&) noexcept { return LookRange::of(allocation); },
        .came_back = [](const Allocation&, std::uint64_t) noexcept { ++came; },
        .brought = [](const Allocation&) noexcept { return brought; }};
    sampler->add_listener(&listener);
    ManagedLike memory(16);
    memory.touch(0, 16);
    const auto round = [&] {
        sampler->before_launch(touching({&memory}));
        sampler->after_synchronize();
    };
    round();
    round();
    BOOST_TEST(came == 0u); // nobody has taken it away
    brought = true;
    round();
    round();
    BOOST_TEST(came == 1u);
    memory.leave(0, 16);
    round();
    BOOST_TEST(came == 1u); // brought, and the device has it again
}

BOOST_AUTO_TEST_CASE(what_the_host_took_back_shows_before_a_prefetch_and_before_the_free) {
    ManagedLike memory(64);
    const auto last = [] { return recorder().residency.back(); };
    sampler->before_launch(touching({&memory}));
    sampler->after_synchronize();
    memory.touch(0, 16);
    sampler->before_prefetch(memory.allocation);
    BOOST_REQUIRE(recorder().residency.size() == 3u);
    BOOST_TEST((last().moment == trace::SampleMoment::before_prefetch));
    BOOST_TEST(last().pages == 64u);
    BOOST_TEST(last().host_pages == 16u);
    memory.touch(16, 16);
    sampler->before_free(memory.allocation);
    BOOST_REQUIRE(recorder().residency.size() == 4u);
    BOOST_TEST((last().moment == trace::SampleMoment::before_free));
    BOOST_TEST(last().host_pages == 32u);
    BOOST_TEST(last().allocation == memory.allocation.id);
    for (const trace::Residency& sample : recorder().residency)
        BOOST_TEST(sample.content == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_driver_tells_is_not_looked_at_once_it_was_launched_on_or_before_a_free) {
    ManagedLike memory(64);
    memory.touch(0, 64);
    managed_watch().begin();
    driver().managed_watched = true; // nothing has moved yet
    BOOST_TEST(!sampler->alone());
    sampler->before_launch(touching({&memory}));
    sampler->after_synchronize();
    recorder().residency.clear();
    sampler->before_prefetch(memory.allocation);
    sampler->before_free(memory.allocation);
    BOOST_TEST(recorder().residency.empty());
    driver().managed_watched = false;
    BOOST_TEST(sampler->alone());
    sampler->before_prefetch(memory.allocation);
    sampler->before_free(memory.allocation);
    BOOST_TEST(recorder().residency.size() == 2u);
}

BOOST_AUTO_TEST_CASE(prefetches_part_by_part_are_one_look_until_the_next_synchronisation) {
    ManagedLike memory(64), other(64);
    sampler->before_prefetch(memory.allocation);
    sampler->before_prefetch(memory.allocation);
    sampler->before_prefetch(other.allocation);
    sampler->before_prefetch(memory.allocation);
    BOOST_TEST(recorder().residency.size() == 2u);
    sampler->before_launch(touching({&memory})); // looks all the same
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 4u);
    sampler->before_prefetch(memory.allocation);
    BOOST_TEST(recorder().residency.size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_synchronisation_after_prefetches_alone_lets_the_next_be_looked_at) {
    ManagedLike memory(64);
    sampler->before_prefetch(memory.allocation);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 1u);
    memory.touch(0, 64); // the host has taken it back
    sampler->before_prefetch(memory.allocation);
    BOOST_REQUIRE(recorder().residency.size() == 2u);
    BOOST_TEST(recorder().residency.back().host_pages == 64u);
}

BOOST_AUTO_TEST_CASE(no_allowance_no_look_before_a_free) {
    ManagedLike memory(64);
    sampler->set_allowance(0);
    sampler->before_free(memory.allocation);
    BOOST_TEST(recorder().residency.empty());
}

BOOST_AUTO_TEST_CASE(threads_sample_one_at_a_time) {
    ManagedLike memory(64), other(64);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                sampler->before_launch(touching({&memory, &other}));
                sampler->before_prefetch(memory.allocation);
                sampler->after_synchronize();
                sampler->before_free(other.allocation);
            }
        });
    for (auto& thread : threads)
        thread.join();
    BOOST_TEST(!recorder().residency.empty());
    BOOST_TEST(std::all_of(recorder().residency.begin(), recorder().residency.end(),
                           [](const trace::Residency& sample) { return sample.pages == 64; }));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
