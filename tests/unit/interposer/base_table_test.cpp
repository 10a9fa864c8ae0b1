#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(base_table)

using namespace umadvisor;

namespace {

struct Slot {
    static constexpr std::uint64_t taken_out = ~0ull;
    std::uint64_t key; ///< 0: free

    bool free() const { return key == 0; }
    bool gone() const { return key == taken_out; }
    std::uint64_t hash() const { return base::hash(key); }
};

template <base::Searched searched>
struct Keys {
    base::Table<Slot, searched> table;

    Slot* find(std::uint64_t key) const {
        return table.find(base::hash(key), [key](const Slot& slot) { return slot.key == key; });
    }
    void add(std::uint64_t key) { table.add(base::hash(key))->key = key; }
    void take_out(std::uint64_t key) {
        find(key)->key = Slot::taken_out;
        table.sweep([](Slot& slot) { slot.key = 0; });
    }
};

template <base::Searched searched>
void check_growth() {
    constexpr std::uint64_t many = 10'000;
    Keys<searched> keys, others;
    for (std::uint64_t key = 1; key <= many; ++key) {
        BOOST_TEST_REQUIRE(keys.find(key) == nullptr);
        keys.add(key);
    }
    BOOST_TEST(keys.table.used() == many);
    for (std::uint64_t key = 1; key <= many; ++key)
        BOOST_TEST_REQUIRE(keys.find(key)->key == key);
    BOOST_TEST(keys.find(many + 1) == nullptr);
    BOOST_TEST(others.find(1) == nullptr);
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_added_is_found_however_many_there_are) {
    check_growth<base::Searched::under_the_lock>();
    check_growth<base::Searched::by_any_thread>();
}

/// Tables of one kind have their first slots, which stay free, in common.
BOOST_AUTO_TEST_CASE(an_entry_is_in_one_table) {
    Keys<base::Searched::by_any_thread> one, other;
    one.add(1);
    BOOST_TEST(one.find(1) != nullptr);
    BOOST_TEST(other.find(1) == nullptr);
}

BOOST_AUTO_TEST_CASE(what_comes_and_goes_needs_no_more_slots) {
    Keys<base::Searched::by_any_thread> keys;
    keys.add(1);
    const std::size_t slots = keys.table.slots().size();
    for (std::uint64_t key = 2; key < 100'000; ++key) {
        keys.add(key);
        keys.take_out(key);
        BOOST_TEST_REQUIRE(keys.find(key) == nullptr);
    }
    BOOST_TEST(keys.find(1) != nullptr);
    BOOST_TEST(keys.table.slots().size() == slots);
}

BOOST_AUTO_TEST_SUITE_END()
