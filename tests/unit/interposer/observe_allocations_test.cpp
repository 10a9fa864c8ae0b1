#include "interposer/observe/allocations.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(allocation_index)

using namespace umadvisor;
using namespace umadvisor::observe;

namespace {

Allocation allocation(std::uint64_t id, std::uint64_t address, std::uint64_t bytes,
                      trace::Memory memory = trace::Memory::device) {
    Allocation made = made_allocation(address, bytes, memory, id);
    made.device = 3;
    return made;
}

std::uint64_t id_at(const AllocationIndex& index, std::uint64_t address) {
    Allocation found{};
    return index.find(address, found) ? found.id : 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_byte_of_an_allocation_is_found_and_none_beside_it) {
    auto index = std::make_unique<AllocationIndex>();
    BOOST_TEST(id_at(*index, 0x1000) == 0u);
    Allocation made = made_allocation(0x1000, 0x100, trace::Memory::managed, 7);
    made.device = 5;
    made.rewritten = true;
    index->insert(made);
    BOOST_TEST(id_at(*index, 0xfff) == 0u);
    BOOST_TEST(id_at(*index, 0x1000) == 7u);
    BOOST_TEST(id_at(*index, 0x10ff) == 7u);
    BOOST_TEST(id_at(*index, 0x1100) == 0u);
    Allocation found{};
    BOOST_TEST(index->find(0x1080, found));
    BOOST_TEST(found.address == 0x1000u);
    BOOST_TEST(found.bytes == 0x100u);
    BOOST_TEST(found.device == 5u);
    BOOST_TEST(found.rewritten);
    BOOST_TEST((found.memory == trace::Memory::managed));
    BOOST_TEST(index->managed_count() == 1u);
}

BOOST_AUTO_TEST_CASE(only_the_start_of_an_allocation_erases_it) {
    auto index = std::make_unique<AllocationIndex>();
    index->insert(allocation(1, 0x1000, 0x100));
    const std::uint64_t before = index->generation();
    Allocation gone{};
    BOOST_TEST(!index->erase(0x1001, gone));
    BOOST_TEST(gone.id == 0u); // nobody may take it for erased
    BOOST_TEST(index->generation() == before);
    BOOST_TEST(index->erase(0x1000, gone));
    BOOST_TEST(gone.id == 1u);
    BOOST_TEST(index->generation() != before);
    BOOST_TEST(!index->erase(0x1000, gone));
    BOOST_TEST(id_at(*index, 0x1000) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_placed_is_another_thing_to_launches) {
    auto index = std::make_unique<AllocationIndex>();
    for (const std::uint64_t id : {7, 8}) {
        Allocation made = made_allocation((id - 6) * 0x1000, 0x100, trace::Memory::managed, id);
        made.rewritten = true;
        made.device = 5;
        made.context = 3;
        index->insert(made);
    }
    const auto look = [&](std::uint64_t address) {
        Allocation found{};
        BOOST_TEST(index->find(address, found));
        BOOST_TEST((found.rewritten && found.device == 5 && found.context == 3 &&
                    found.memory == trace::Memory::managed));
        return found.kept_on_device;
    };
    BOOST_TEST(!look(0x1000));
    for (const bool kept_on_device : {true, false}) {
        const std::uint64_t before = index->generation();
        index->set_kept_on_device(0x1000, kept_on_device);
        BOOST_TEST(index->generation() != before);
        BOOST_TEST(look(0x1000) == kept_on_device);
        BOOST_TEST(!look(0x2000));
    }
    index->set_kept_on_device(0x1001, true); // no allocation's start
    BOOST_TEST(!look(0x1000));
}

BOOST_AUTO_TEST_CASE(launches_differ_in_words_within_wider_bounds_though_nothing_lies_there) {
    auto index = std::make_unique<AllocationIndex>();
    constexpr std::uint64_t heap = 0x7f00'0000'0000;
    BOOST_TEST(index->extent().only(heap) == 0u);
    index->widen(heap, heap + 4096);
    BOOST_TEST(index->extent().only(heap) == heap);
    BOOST_TEST(index->extent().only(heap + 4096) == 0u);
    Allocation out;
    BOOST_TEST(!index->find(heap, out));
    BOOST_TEST(!index->erase(heap, out));
    BOOST_TEST(!index->overlaps(heap, heap + 4096));
}

BOOST_AUTO_TEST_CASE(what_a_new_allocation_covers_was_freed_unseen) {
    auto index = std::make_unique<AllocationIndex>();
    index->insert(allocation(1, 0x1000, 0x1000));
    index->insert(allocation(2, 0x2000, 0x1000));
    index->insert(allocation(3, 0x3000, 0x1000));
    index->insert(allocation(4, 0x1800, 0x1000)); // the end of 1 and the start of 2
    BOOST_TEST(id_at(*index, 0x1000) == 0u);
    BOOST_TEST(id_at(*index, 0x2000) == 4u);
    BOOST_TEST(id_at(*index, 0x2800) == 0u);
    BOOST_TEST(id_at(*index, 0x3000) == 3u);
    BOOST_TEST(index->count() == 2u);
}

BOOST_AUTO_TEST_CASE(it_agrees_with_a_map_through_a_long_random_life) {
    auto index = std::make_unique<AllocationIndex>();
    std::map<std::uint64_t, std::uint64_t> model; // address -> id
    std::mt19937_64 random(4);
    for (int step = 0; step < 300000; ++step) {
        const std::uint64_t address = (random() % 20000 + 1) * 0x1000;
        if (random() % 5 < 3) {
            const std::uint64_t id = index->next_id();
            index->insert(allocation(id, address, 0x1000));
            model[address] = id;
        } else {
            Allocation gone{};
            BOOST_REQUIRE(index->erase(address, gone) == (model.erase(address) != 0));
        }
        if (step % 16 == 0) {
            const std::uint64_t probe = (random() % 20000 + 1) * 0x1000;
            const auto expected = model.find(probe);
            BOOST_REQUIRE(id_at(*index, probe + random() % 0x1000) ==
                          (expected == model.end() ? 0 : expected->second));
        }
    }
    BOOST_TEST(index->count() == model.size());
    for (const auto& [address, id] : model) {
        Allocation gone{};
        BOOST_REQUIRE(index->erase(address, gone));
        BOOST_REQUIRE(gone.id == id);
    }
    BOOST_TEST(index->count() == 0u);
}

BOOST_AUTO_TEST_CASE(all_of_one_id_go_together) {
    auto index = std::make_unique<AllocationIndex>();
    for (std::uint64_t i = 0; i < 1000; ++i) // leaves empty on the way
        index->insert(allocation(i < 200 || i % 3 == 0 ? 7 : 100 + i, 0x1000 + i * 16, 0));
    index->erase_all(7);
    for (std::uint64_t i = 0; i < 1000; ++i)
        BOOST_TEST(id_at(*index, 0x1000 + i * 16) == (i < 200 || i % 3 == 0 ? 0 : 100 + i));
    index->erase_all(12345);
    BOOST_TEST(index->count() == 533u);
    for (std::uint64_t i = 200; i < 1000; ++i)
        index->erase_all(100 + i);
    BOOST_TEST(index->count() == 0u);
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_in_ascending_order_are_held) {
    auto index = std::make_unique<AllocationIndex>();
    for (std::uint64_t i = 1; i <= 100000; ++i)
        index->insert(allocation(i, i << 20, 1 << 20, i % 2 ? trace::Memory::managed : trace::Memory::device));
    for (std::uint64_t i = 1; i <= 100000; ++i)
        BOOST_REQUIRE(id_at(*index, (i << 20) + 17) == i);
    std::uint64_t managed = 0, last = 0;
    bool ordered = true;
    index->for_each_managed([&](const Allocation& found) {
        ordered &= found.address > last;
        last = found.address;
        ++managed;
    });
    BOOST_TEST(managed == 50000u);
    BOOST_TEST(ordered);
}

BOOST_AUTO_TEST_CASE(readers_see_whole_allocations_while_others_come_and_go) {
    auto index = std::make_unique<AllocationIndex>();
    // Steady ones must be found at every moment; the values of all carry their address.
    for (std::uint64_t i = 1; i <= 500; ++i)
        index->insert(allocation(i << 16, i << 16, 0x100));
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> wrong{0}, looked{0};
    std::vector<std::thread> threads;
    for (int reader = 0; reader < 2; ++reader)
        threads.emplace_back([&, reader] {
            std::mt19937_64 random(static_cast<std::uint64_t>(reader));
            while (!stop) {
                Allocation found{};
                const std::uint64_t steady = (random() % 500 + 1) << 16;
                wrong += !index->find(steady + 0xff, found) || found.id != steady || found.bytes != 0x100;
                const std::uint64_t moving = steady + 0x1000;
                if (index->find(moving, found))
                    wrong += found.id != moving || found.address != moving || found.bytes != 0x200;
                ++looked;
            }
        });
    for (int writer = 0; writer < 2; ++writer)
        threads.emplace_back([&, writer] {
            std::mt19937_64 random(static_cast<std::uint64_t>(100 + writer));
            for (int i = 0; i < 20000; ++i) {
                const std::uint64_t address =
                    ((random() % 250 * 2 + 1 + static_cast<std::uint64_t>(writer)) << 16) + 0x1000;
                Allocation gone{};
                if (!index->erase(address, gone))
                    index->insert(allocation(address, address, 0x200));
            }
        });
    threads[2].join();
    threads[3].join();
    stop = true;
    threads[0].join();
    threads[1].join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(looked > 0u);
}

BOOST_AUTO_TEST_CASE(what_a_new_one_covers_is_told) {
    auto index = std::make_unique<AllocationIndex>();
    for (std::uint64_t i = 0; i < 5; ++i)
        index->insert(allocation(i + 1, 0x1000 + i * 0x1000, 0x1000));
    Allocation covered[2];
    BOOST_TEST(index->insert(allocation(9, 0x1800, 0x2000), covered, 2) == 3u);
    BOOST_TEST(covered[0].id == 3u);
    BOOST_TEST(covered[1].id == 2u);
    BOOST_TEST(index->count() == 3u);
    BOOST_TEST(index->insert(allocation(10, 0x9000, 0x1000), covered, 2) == 0u);
}

BOOST_AUTO_TEST_CASE(what_starts_in_a_range_is_taken) {
    auto index = std::make_unique<AllocationIndex>();
    Allocation out[64];
    BOOST_TEST(index->remove_range(0, ~0ull, out, 64) == 0u);
    for (std::uint64_t i = 0; i < 200; ++i) // more than a leaf
        index->insert(allocation(i + 1, 0x10000 + i * 0x1000, 0x1000));
    BOOST_TEST(index->remove_range(0x10800, 0x12800, out, 64) == 2u); // not what only reaches into it
    BOOST_TEST(id_at(*index, 0x10000) == 1u);
    BOOST_TEST(id_at(*index, 0x11000) == 0u);
    BOOST_TEST(id_at(*index, 0x12fff) == 0u);
    BOOST_TEST(id_at(*index, 0x13000) == 4u);
    std::size_t removed = 0, last = 64;
    while (last == 64)
        removed += last = index->remove_range(0, ~0ull, out, 64);
    BOOST_TEST(removed == 198u);
    BOOST_TEST(index->count() == 0u);
}

BOOST_AUTO_TEST_CASE(what_goes_with_a_context_is_taken) {
    auto index = std::make_unique<AllocationIndex>();
    std::vector<std::uint64_t> expected, removed;
    for (std::uint64_t id = 1; id <= 300; ++id) {
        Allocation made = allocation(id, id * 0x1000, 0x1000, trace::Memory::managed);
        made.context = static_cast<std::uint16_t>(id % 3 == 0 || (id > 100 && id < 200) ? 0xfffe : id % 3);
        made.device = 0xffffffff; // shares the word
        index->insert(made);
        if (made.context == 0xfffe)
            expected.push_back(id);
    }
    Allocation out[16];
    for (std::size_t count = 16; count == 16;) {
        count = index->remove_context(0xfffe, out, 16);
        for (std::size_t i = 0; i < count; ++i)
            removed.push_back(out[i].id);
    }
    std::sort(removed.begin(), removed.end());
    BOOST_TEST(removed == expected, boost::test_tools::per_element());
    BOOST_TEST(index->count() == 300 - expected.size());
    BOOST_TEST(index->managed_count() == index->count());
    Allocation kept{};
    BOOST_TEST(index->find(0x1000, kept));
    BOOST_TEST(kept.context == 1u);
    BOOST_TEST(kept.device == 0xffffffffu);
    BOOST_TEST(!kept.rewritten);
}

BOOST_AUTO_TEST_SUITE_END()
