#include "interposer/observe/contexts.hpp"
#include "interposer/observe/handle_table.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <set>

BOOST_AUTO_TEST_SUITE(contexts)

using namespace umadvisor::observe;

namespace {

CUcontext context(std::uint64_t handle) {
    return reinterpret_cast<CUcontext>(handle);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_handle_that_comes_back_has_another_number) {
    const std::uint16_t first = context_number(context(0x5500'1000));
    BOOST_TEST(first != 0u);
    BOOST_TEST(context_number(context(0x5500'1000)) == first);
    BOOST_TEST(retire_context(context(0x5500'1000)) == first);
    const std::uint16_t second = context_number(context(0x5500'1000));
    BOOST_TEST(second != first);
    BOOST_TEST(retire_context(context(0x5500'2000)) == 0u); // never seen
    BOOST_TEST(context_number(nullptr) == 0u);
}

BOOST_AUTO_TEST_CASE(a_context_that_did_not_go_keeps_its_number) {
    const std::uint16_t number = context_number(context(0x5500'3000));
    restore_context(context(0x5500'3000), retire_context(context(0x5500'3000)));
    BOOST_TEST(context_number(context(0x5500'3000)) == number);
    restore_context(context(0x5500'4000), retire_context(context(0x5500'4000)));
    BOOST_TEST(context_number(context(0x5500'4000)) != 0u);
}

/// A thread releases its use of the device's context, which others go on using: another thread allocates
/// meanwhile.
BOOST_AUTO_TEST_CASE(what_is_allocated_while_a_context_might_go_goes_with_it_later) {
    const CUcontext primary = context(0x5500'5000);
    const std::uint16_t number = context_number(primary);
    const std::uint16_t retired = retire_context(primary);
    const std::uint16_t meanwhile = context_number(primary);
    restore_context(primary, retired);
    BOOST_TEST(context_number(primary) == number);
    BOOST_TEST(meanwhile != number);
    BOOST_TEST(retire_context(primary) == number);
    BOOST_TEST(take_alias(number) == meanwhile);
    BOOST_TEST(take_alias(number) == 0u);
    BOOST_TEST(take_alias(0) == 0u);
}

BOOST_AUTO_TEST_CASE(devices_and_contexts_have_numbers_of_their_own) {
    std::set<std::uint16_t> numbers;
    for (std::uint32_t device = 0; device < 8; ++device)
        numbers.insert(device_number(device));
    for (std::uint64_t i = 1; i <= 8; ++i)
        numbers.insert(context_number(context(0x5600'0000 + i * 64)));
    BOOST_TEST(numbers.size() == 16u);
    BOOST_TEST(numbers.count(0) == 0u);
    join_context(context(0x5700'0000), context(0x5600'0040));
    BOOST_TEST(context_number(context(0x5700'0000)) == context_number(context(0x5600'0040)));
}

BOOST_AUTO_TEST_CASE(a_full_table_takes_no_more_until_one_goes) {
    auto table = std::make_unique<HandleTable<4>>();
    for (std::uint64_t handle = 1; handle <= 4; ++handle)
        BOOST_TEST(table->put(handle << 20, static_cast<std::uint16_t>(handle)));
    BOOST_TEST(!table->put(9 << 20, 9));
    BOOST_TEST(table->put(3 << 20, 33)); // known
    BOOST_TEST(table->find(3 << 20) == 33u);
    table->erase(2 << 20);
    BOOST_TEST(table->find(2 << 20) == table->absent);
    BOOST_TEST(table->put(9 << 20, 0xffff));
    BOOST_TEST(table->find(9 << 20) == 0xffffu);
    BOOST_TEST(table->find(4 << 20) == 4u);
    BOOST_TEST(table->find(0) == table->absent);
}

BOOST_AUTO_TEST_SUITE_END()
