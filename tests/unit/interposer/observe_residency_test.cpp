#include "interposer/observe/pagemap.hpp"
#include "interposer/runtime/options.hpp"
#include "managed_like.hpp"
#include "tests/unit/in_threads.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(observe_residency)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>; ///< first and end of each

/// Acts on what looks show.
struct Actor {
    ResidencySampler& sampler;
    std::function<LookRange(const Allocation&, const LookOccasion&)> where =
        [](const Allocation& allocation, const LookOccasion&) { return LookRange::of(allocation); };
    LookVisit visit = nullptr;
    bool content = false, brought = false;
    std::vector<std::uint64_t> contents{}; ///< of what came back

    void before_launch(const Touched& touched) {
        act([&](Looks& looks) { return sampler.choose_before_launch(touched, looks); });
    }
    void after_synchronize() {
        act([&](Looks& looks) { return sampler.choose_after_synchronize(looks); });
    }

private:
    template <class Choose>
    void act(Choose choose) {
        const ResidencySampler::Turn turn(sampler);
        Looks looks;
        BOOST_REQUIRE(static_cast<bool>(turn));
        if (!choose(looks))
            return;
        looks.visit = visit;
        looks.content = content;
        for (Look& look : looks) {
            look.range = where(*look.allocation, looks.occasion);
            look.brought = brought;
        }
        sampler.make(looks);
        for (const Look& look : looks)
            if (look.came_back)
                contents.push_back(look.content);
    }
};

} // namespace

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
        BOOST_TEST(number(sample.allocation) == memory.allocation.id);
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
        BOOST_TEST(last().pages == 512u);
        return last().host_pages;
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
    sampler->before_launch(Touched{.scanned = true});
    BOOST_TEST(recorder().residency.empty());
    sampler->before_launch(Touched{});
    sampler->before_launch(Touched{}); // one look until the next synchronisation
    BOOST_TEST(recorder().residency.size() == 2u);
    sampler->after_synchronize();
    BOOST_TEST(recorder().residency.size() == 4u);
    sampler->before_launch(Touched{});
    BOOST_TEST(recorder().residency.size() == 6u);
    pass_time(20'000'000); // or until a while has passed
    sampler->before_launch(Touched{});
    BOOST_TEST(recorder().residency.size() == 8u);
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
    ManagedLike memory(16), other(16);
    sampler->set_allowance(0);
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(recorder().residency.empty());
    pass_time(20'000); // of which 1% is for a look
    sampler->before_launch(touching({&other}));
    BOOST_TEST(recorder().residency.size() == 1u);
    pass_time(20'000);
    sampler->after_synchronize(); // it was more
    BOOST_TEST(recorder().residency.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_acts_is_told_what_was_looked_at_and_what_the_host_holds) {
    static Runs looked, host;
    looked.clear();
    host.clear();
    Actor actor{*sampler};
    actor.visit = [](const Allocation&, LookRange range, bool on_host) noexcept {
        (on_host ? host : looked).emplace_back(range.first, range.last);
    };
    ManagedLike memory(64);
    memory.touch(32, 16);
    actor.before_launch(touching({&memory}));
    BOOST_TEST((looked == Runs{{memory.address(0), memory.address(64)}}));
    BOOST_TEST((host == Runs{{memory.address(32), memory.address(48)}}));
    host.clear();
    actor.after_synchronize();
    Allocation small = memory.allocation; // the driver puts small ones together
    small.address = memory.address(40) + 512;
    small.bytes = 256;
    small.id = allocations().next_id();
    Touched touched;
    touched.managed[touched.managed_count++] = small;
    actor.before_launch(touched);
    BOOST_TEST((host.back() == Runs::value_type{small.address, small.address + 256}));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_a_look_that_who_acts_has_no_use_for) {
    std::vector<LookOccasion> asked;
    ManagedLike memory(16), other(16);
    const std::uint64_t wanted = other.allocation.id;
    Actor actor{*sampler};
    actor.where = [&](const Allocation& allocation, const LookOccasion& occasion) {
        asked.push_back(occasion);
        return allocation.id == wanted && occasion.moment == trace::SampleMoment::before_launch
                   ? LookRange::of(allocation)
                   : LookRange{};
    };
    actor.before_launch(touching({&memory, &other}));
    BOOST_REQUIRE(recorder().residency.size() == 1u);
    BOOST_TEST(number(recorder().residency[0].allocation) == wanted);
    actor.after_synchronize();
    BOOST_TEST(recorder().residency.size() == 1u);
    BOOST_REQUIRE(asked.size() == 4u);
    memory.touch(0, 16); // faults
    actor.before_launch(touching({&memory}));
    BOOST_REQUIRE(asked.size() == 5u);
    BOOST_TEST(asked[0].host_faults == asked[1].host_faults);
    BOOST_TEST(asked[4].host_faults >= asked[0].host_faults + 16);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_repaired_is_not_looked_at_for_the_trace) {
    setenv("UMADVISOR_ACT", "prefetch", 1);
    runtime::read_options();
    ManagedLike memory(16);
    sampler->before_launch(touching({&memory}));
    sampler->after_synchronize();
    sampler->before_prefetch(memory.allocation);
    sampler->before_free(memory.allocation);
    BOOST_TEST(recorder().residency.empty());
    unsetenv("UMADVISOR_ACT");
    runtime::read_options();
    sampler->before_launch(touching({&memory}));
    BOOST_TEST(recorder().residency.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_look_goes_no_farther_than_it_is_wanted) {
    static Runs looked;
    looked.clear();
    ManagedLike memory(64);
    memory.touch(0, 64);
    Actor actor{*sampler};
    actor.visit = [](const Allocation&, LookRange range, bool on_host) noexcept {
        if (!on_host)
            looked.emplace_back(range.first, range.last);
    };
    actor.where = [&](const Allocation&, const LookOccasion&) {
        return LookRange{memory.address(16) + 100, memory.address(17) + 100};
    };
    actor.before_launch(touching({&memory}));
    BOOST_TEST((looked == Runs{{memory.address(16), memory.address(18)}}));
    BOOST_REQUIRE(recorder().residency.size() == 1u);
    BOOST_TEST(recorder().residency[0].offset == 16u * 4096);
    BOOST_TEST(recorder().residency[0].pages == 2u);
    BOOST_TEST(recorder().residency[0].host_pages == 2u);
}

BOOST_AUTO_TEST_CASE(what_came_back_is_read_for_who_asks_for_it) {
    for (const bool asks : {true, false}) {
        ManagedLike memory(16);
        memory.touch(0, 16);
        Actor actor{*sampler};
        actor.content = asks;
        actor.before_launch(touching({&memory}));
        BOOST_TEST(actor.contents.empty()); // it has never been away
        memory.leave(0, 16);
        actor.after_synchronize();
        memory.touch(0, 16);
        actor.before_launch(touching({&memory}));
        BOOST_REQUIRE(actor.contents.size() == (asks ? 1u : 0u));
        if (asks)
            BOOST_TEST(actor.contents[0] != 0u);
        BOOST_TEST(last().content == (asks ? actor.contents[0] : 0u));
    }
}

BOOST_AUTO_TEST_CASE(what_was_brought_to_the_host_before_the_wait_was_over_has_come_back) {
    Actor actor{*sampler};
    actor.content = true;
    ManagedLike memory(16);
    memory.touch(0, 16);
    const auto round = [&] {
        actor.before_launch(touching({&memory}));
        actor.after_synchronize();
    };
    round();
    round();
    BOOST_TEST(actor.contents.size() == 0u); // nobody has taken it away
    actor.brought = true;
    round();
    round();
    BOOST_TEST(actor.contents.size() == 1u);
    memory.leave(0, 16);
    round();
    BOOST_TEST(actor.contents.size() == 1u); // brought, and the device has it again
}

BOOST_AUTO_TEST_CASE(what_the_host_took_back_shows_before_a_prefetch_and_before_the_free) {
    ManagedLike memory(64);
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
    BOOST_TEST(number(last().allocation) == memory.allocation.id);
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
    BOOST_TEST(last().host_pages == 64u);
}

BOOST_AUTO_TEST_CASE(no_allowance_no_look_before_a_free) {
    ManagedLike memory(64);
    sampler->set_allowance(0);
    sampler->before_free(memory.allocation);
    BOOST_TEST(recorder().residency.empty());
}

BOOST_AUTO_TEST_CASE(threads_sample_one_at_a_time) {
    ManagedLike memory(64), other(64);
    test::in_threads(3, [&](std::size_t) {
        for (int round = 0; round < 200; ++round) {
            sampler->before_launch(touching({&memory, &other}));
            sampler->before_prefetch(memory.allocation);
            sampler->after_synchronize();
            sampler->before_free(other.allocation);
        }
    });
    BOOST_TEST(!recorder().residency.empty());
    BOOST_TEST(std::all_of(recorder().residency.begin(), recorder().residency.end(),
                           [](const trace::Residency& sample) { return sample.pages == 64; }));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
