#include "policy/prefetch_plan.hpp"
#include "policy/residency_map.hpp"
#include "policy/rewrite_policy.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_policy)

using namespace umadvisor::policy;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr BlockState U = BlockState::unknown, H = BlockState::host, D = BlockState::device;

ResidencyView view(std::uint64_t id, std::uint64_t address, std::uint64_t bytes,
                   const std::vector<BlockState>& blocks) {
    return {id, address, bytes, blocks};
}

PrefetchPlan plan(std::vector<ResidencyView> views, std::uint64_t budget) {
    PrefetchPlan out;
    plan_prefetch(views, budget, out);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(allocation_policy)

BOOST_AUTO_TEST_CASE(a_card_holds_what_fits_beside_everything_else) {
    BOOST_TEST(holds_all({1000, 100, 0, 0}));
    BOOST_TEST(holds_all({1000, 1000, 0, 0}));
    BOOST_TEST(!holds_all({1000, 1001, 0, 0}));
    BOOST_TEST(holds_all({1000, 900, 100, 0}));
    BOOST_TEST(!holds_all({1000, 900, 101, 0}));
    BOOST_TEST(holds_all({1000, 800, 100, 100}));
    BOOST_TEST(!holds_all({1000, 800, 100, 101}));
    BOOST_TEST(room_of({1000, 700, 300, 0}) == 700u);
    BOOST_TEST(room_of({1000, 0, 1300, 0}) == 0u);
}

BOOST_AUTO_TEST_CASE(memory_looks_as_if_it_had_been_allocated_on_the_pretended_card) {
    struct Row {
        std::uint64_t free, total, pretended, held, seen_free, seen_total;
    };
    const Row rows[] = {
        {900, 1000, 0, 0, 900, 1000},   {900, 1000, 0, 300, 700, 1000},  {900, 1000, 500, 0, 400, 500},
        {900, 1000, 500, 450, 50, 500}, {900, 1000, 2000, 0, 900, 1000}, {100, 1000, 500, 0, 0, 500},
        {600, 1000, 0, 300, 600, 1000}, // the driver counts it, and a context
        {900, 1000, 0, 5000, 0, 1000},
    };
    for (const Row& row : rows) {
        const MemoryInfo seen = pretend({row.free, row.total}, row.pretended, row.held);
        BOOST_TEST(seen.free == row.seen_free);
        BOOST_TEST(seen.total == row.seen_total);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(prefetch_policy)

BOOST_AUTO_TEST_CASE(runs_of_missing_blocks_become_ranges) {
    const PrefetchPlan out = plan({view(1, 64 * mib, 12 * mib, {U, H, D, D, H, D})}, ~0ull);
    BOOST_REQUIRE(out.count == 2u);
    BOOST_TEST(out.ranges[0].address == 64 * mib);
    BOOST_TEST(out.ranges[0].bytes == 4 * mib);
    BOOST_TEST(out.ranges[1].address == 72 * mib);
    BOOST_TEST(out.ranges[1].bytes == 2 * mib);
    BOOST_TEST(out.bytes == 6 * mib);
    BOOST_TEST(out.withheld == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_planned_for_what_is_resident) {
    BOOST_TEST(plan({view(1, 64 * mib, 4 * mib, {D, D}), view(2, 80 * mib, 2 * mib, {D})}, ~0ull).count == 0u);
    BOOST_TEST(plan({}, ~0ull).count == 0u);
}

BOOST_AUTO_TEST_CASE(ranges_stay_inside_their_allocation) {
    const std::uint64_t address = 64 * mib + 4096; // cuts three blocks
    const PrefetchPlan out = plan({view(1, address, 4 * mib, {H, H, H})}, ~0ull);
    BOOST_REQUIRE(out.count == 1u);
    BOOST_TEST(out.ranges[0].address == address);
    BOOST_TEST(out.ranges[0].bytes == 4 * mib);
    const PrefetchPlan tail = plan({view(1, address, 4 * mib, {D, D, H})}, ~0ull);
    BOOST_TEST(tail.ranges[0].address == 68 * mib);
    BOOST_TEST(tail.ranges[0].bytes == 4096u);
}

BOOST_AUTO_TEST_CASE(the_budget_is_never_passed_and_cuts_at_a_block) {
    const std::vector<BlockState> missing(8, U);
    const PrefetchPlan out =
        plan({view(1, 64 * mib, 16 * mib, missing), view(2, 128 * mib, 2 * mib, {U})}, 5 * mib);
    BOOST_REQUIRE(out.count == 1u);
    BOOST_TEST(out.ranges[0].bytes == 4 * mib);
    BOOST_TEST(out.bytes == 4 * mib);
    BOOST_TEST(out.withheld == 14 * mib);
    const PrefetchPlan none = plan({view(1, 64 * mib, 16 * mib, missing)}, 0);
    BOOST_TEST(none.count == 0u);
    BOOST_TEST(none.withheld == 16 * mib);
    const PrefetchPlan less_than_a_block = plan({view(1, 64 * mib + 4096, 2 * mib, {U, U})}, mib);
    BOOST_TEST(less_than_a_block.count == 0u);
}

BOOST_AUTO_TEST_CASE(more_ranges_than_a_plan_holds_are_withheld) {
    std::vector<BlockState> every_other(2 * PrefetchPlan::max_ranges + 4, D);
    for (std::size_t i = 0; i < every_other.size(); i += 2)
        every_other[i] = H;
    const PrefetchPlan out = plan({view(1, 64 * mib, every_other.size() * 2 * mib, every_other)}, ~0ull);
    BOOST_TEST(out.count == PrefetchPlan::max_ranges);
    BOOST_TEST(out.withheld == 4 * mib);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(residency_map)

struct Map {
    ResidencyMap map;
    ResidencyView seen{};
    static constexpr std::uint64_t address = 64 * mib;
    Map() {
        BOOST_REQUIRE(map.see(1, address, 8 * mib, seen));
        map.note_user(1, 0);
    }
    ~Map() { map.clear(); }
    std::vector<BlockState> blocks() {
        map.see(1, address, 8 * mib, seen);
        return {seen.blocks.begin(), seen.blocks.end()};
    }
    bool looks(std::uint64_t allocation, std::uint64_t faults) {
        return map.worth_a_look(allocation, faults).last != 0;
    }
};

BOOST_FIXTURE_TEST_CASE(a_launch_brings_what_it_touches_to_the_device, Map) {
    BOOST_TEST(!map.resident(1, 0));
    map.launched(1, ~0ull);
    BOOST_TEST(map.resident(1, 0));
    BOOST_TEST(map.device_bytes(0) == 8 * mib);
    map.forget(1);
    BOOST_TEST(map.device_bytes(0) == 0u);
    BOOST_TEST(!map.resident(1, 0));
}

BOOST_FIXTURE_TEST_CASE(a_launch_cannot_bring_more_than_the_device_holds, Map) {
    map.launched(1, 5 * mib);
    BOOST_TEST(map.device_bytes(0) == 4 * mib);
    BOOST_TEST(!map.resident(1, 0));
}

BOOST_FIXTURE_TEST_CASE(a_look_corrects_what_was_thought, Map) {
    map.launched(1, ~0ull);
    map.looking(1, address, address + 8 * mib);
    map.moved(1, address + 2 * mib + 4096, address + 4 * mib + 4096, H);
    BOOST_TEST((blocks() == std::vector<BlockState>{D, H, H, D}));
    map.looking(1, address, address + 5 * mib); // the third block not completely
    BOOST_TEST((blocks() == std::vector<BlockState>{D, U, H, D}));
    map.moved(1, 0, ~0ull, D);
    BOOST_TEST(map.resident(1, 0));
}

BOOST_FIXTURE_TEST_CASE(what_launches_on_several_devices_reach_is_left_to_faults, Map) {
    using Users = ResidencyMap::Users;
    map.launched(1, ~0ull);
    BOOST_TEST(!map.resident(1, 1));
    BOOST_REQUIRE(map.see(2, 16 * mib, 2 * mib, seen));
    BOOST_TEST((map.note_user(2, 1) == Users::this_device));
    map.launched(2, ~0ull);
    BOOST_TEST(map.device_bytes(0) == 8 * mib);
    BOOST_TEST(map.device_bytes(1) == 2 * mib);
    BOOST_TEST((map.note_user(1, 0) == Users::this_device));
    BOOST_TEST((map.note_user(1, 1) == Users::several_since_now));
    BOOST_TEST((map.note_user(1, 0) == Users::several));
    BOOST_TEST(map.device_bytes(0) == 0u);
    BOOST_TEST((blocks() == std::vector<BlockState>(4, BlockState::left_alone)));
    for (const std::uint32_t device : {0u, 1u, 2u})
        BOOST_TEST(map.resident(1, device)); // nothing is to be brought
    std::vector<std::uint64_t> there;
    map.for_each_resident(1,
                          [&](const ResidencyView& view, std::uint64_t) { there.push_back(view.allocation); });
    map.for_each_resident(0,
                          [&](const ResidencyView& view, std::uint64_t) { there.push_back(view.allocation); });
    BOOST_TEST(there == std::vector<std::uint64_t>{2}, boost::test_tools::per_element());
    map.leave_alone(1, address, address + 8 * mib, false); // by the program's advice
    map.moved(1, address, address + 2 * mib, D);           // by its prefetch
    map.launched(1, ~0ull);
    BOOST_TEST(map.device_bytes(1) == 2 * mib);
}

/// For those who would send it home before anybody has seen whether the launch came for it.
BOOST_FIXTURE_TEST_CASE(the_block_that_is_left_to_faults_is_known_until_the_wait, Map) {
    map.crowd();
    map.moved(1, address, address + 8 * mib, H);
    BOOST_TEST(map.tried_block(1) == 0u);
    for (int launch = 0; launch < 100 && map.tried_block(1) == 0; ++launch)
        BOOST_TEST(map.worth_bringing(1, 7));
    const std::uint64_t tried = map.tried_block(1);
    BOOST_TEST_REQUIRE(tried >= address);
    BOOST_TEST_REQUIRE(tried < address + 8 * mib);
    BOOST_TEST(tried % (2 * mib) == 0u);
    BOOST_TEST((blocks()[(tried - address) / (2 * mib)] == D));
    map.synchronized(true, false, 8); // another stream
    BOOST_TEST(map.tried_block(1) == tried);
    map.synchronized(true, false, 7);
    BOOST_TEST(map.tried_block(1) == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_bounces_is_unknown_after_a_synchronisation_that_nobody_looked_after, Map) {
    map.launched(1, ~0ull);
    map.synchronized(true, true, 0);
    BOOST_TEST(map.resident(1, 0)); // it never came back so far
    map.looking(1, address, address + 8 * mib);
    map.moved(1, address, address + 4096, H);
    map.launched(1, ~0ull);
    BOOST_TEST(map.resident(1, 0));
    map.synchronized(true, true, 0);
    BOOST_TEST(!map.resident(1, 0));
    BOOST_TEST((blocks() == std::vector<BlockState>{U, U, U, U}));
    map.launched(1, ~0ull);
    map.synchronized(true, true, 0);
    map.looking(1, address, address + 8 * mib); // looked: nothing came back
    BOOST_TEST(map.resident(1, 0));
}

BOOST_FIXTURE_TEST_CASE(what_is_prefetched_anyway_is_worth_no_look, Map) {
    std::uint64_t faults = 1000;
    BOOST_TEST(!looks(2, ++faults)); // never seen
    BOOST_TEST(!looks(1, ++faults));
    map.launched(1, ~0ull);
    BOOST_TEST(looks(1, ++faults));
    map.moved(1, address, address + 6 * mib, H);
    BOOST_TEST(looks(1, ++faults)); // the last block may have left too
    map.moved(1, address + 6 * mib, address + 8 * mib, U);
    BOOST_TEST(!looks(1, ++faults));
    map.leave_alone(1, address, address + 8 * mib, true); // the program wants it where it is
    BOOST_TEST(!looks(1, ++faults));
}

BOOST_FIXTURE_TEST_CASE(without_a_page_fault_the_host_has_taken_nothing, Map) {
    BOOST_TEST(!map.untouched(2, 1000)); // never seen
    map.launched(1, ~0ull);
    BOOST_TEST(looks(1, 1000));
    map.looking(1, address, address + 8 * mib);
    map.moved(1, address, address + 4096, H); // it bounces from now on
    map.launched(1, ~0ull);
    map.synchronized(true, true, 0);
    BOOST_TEST(!map.resident(1, 0));
    BOOST_TEST(map.untouched(1, 1000));
    BOOST_TEST(map.resident(1, 0));
    map.synchronized(true, true, 0);
    BOOST_TEST(!map.untouched(1, 1001));
}

BOOST_AUTO_TEST_CASE(few_faults_are_worth_a_look_only_where_something_was_found) {
    ResidencyMap map;
    ResidencyView seen{};
    BOOST_REQUIRE(map.see(7, 0, 200 * mib, seen));
    map.note_user(7, 0);
    map.launched(7, ~0ull);
    const auto whole = [&](std::uint64_t faults) { return map.worth_a_look(7, faults).last == 200 * mib; };
    BOOST_TEST(whole(1000));
    BOOST_TEST(map.worth_a_look(7, 1004).last == 0u); // 100 blocks, and the first look was in vain
    BOOST_TEST(!map.untouched(7, 1004));
    BOOST_TEST(whole(1005)); // those before count
    map.found_on_host(7, 60 * mib, 60 * mib + 4096);
    map.found_on_host(7, 70 * mib, 71 * mib);
    map.launched(7, ~0ull);
    BOOST_TEST(map.untouched(7, 1005));
    for (const std::uint64_t faults : {1006u, 1007u}) { // nothing is found: they add up
        const ResidencyMap::Part part = map.worth_a_look(7, faults);
        BOOST_TEST(part.first == 60 * mib);
        BOOST_TEST(part.last == 71 * mib);
    }
    BOOST_TEST(whole(1008));
    BOOST_TEST(map.worth_a_look(7, 1010).last == 71 * mib);
    map.found_on_host(7, 64 * mib, 66 * mib);
    map.launched(7, ~0ull);
    BOOST_TEST(map.untouched(7, 1010)); // explained
    BOOST_TEST(map.worth_a_look(7, 1012).first == 64 * mib);
    BOOST_TEST(whole(1013)); // what was found made up for the one in vain
    map.clear();
}

BOOST_FIXTURE_TEST_CASE(where_nothing_can_be_seen_all_is_unknown_after_a_synchronisation, Map) {
    map.launched(1, ~0ull);
    map.synchronized(false, true, 0);
    BOOST_TEST(!map.resident(1, 0));
    BOOST_TEST((blocks() == std::vector<BlockState>{U, U, U, U}));
}

BOOST_AUTO_TEST_CASE(many_allocations_in_any_order) {
    ResidencyMap map;
    ResidencyView seen{};
    for (std::uint64_t id = 500; id > 0; --id) {
        BOOST_REQUIRE(map.see(id, id * 16 * mib, 2 * mib, seen));
        map.note_user(id, 0);
    }
    for (std::uint64_t id = 1; id <= 500; id += 2)
        map.launched(id, ~0ull);
    for (std::uint64_t id = 1; id <= 500; ++id)
        BOOST_TEST(map.resident(id, 0) == (id % 2 == 1));
    for (std::uint64_t id = 1; id <= 500; id += 3)
        map.forget(id);
    BOOST_TEST(map.resident(3, 0));
    BOOST_TEST(!map.resident(4, 0));
    map.clear();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
