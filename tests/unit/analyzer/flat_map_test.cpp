/// Flat maps against std::unordered_map.
#include "analyzer/reader/flat_map.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <unordered_map>

using umadvisor::reader::FlatMap;

BOOST_AUTO_TEST_SUITE(analyzer_flat_map)

BOOST_AUTO_TEST_CASE(holds_what_was_put_there_and_not_erased) {
    std::mt19937_64 random(1); // NOLINT: the same numbers each time
    FlatMap<std::string> map;
    std::unordered_map<std::uint64_t, std::string> expected;
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t key = random() % 1000 << random() % 3 * 20; // few, near and far apart
        if (random() % 2 == 0) {
            map[key] = expected[key] = std::to_string(i);
        } else {
            map.erase(key);
            expected.erase(key);
        }
        const auto found = expected.find(key);
        const std::string* const value = map.find(key);
        BOOST_TEST_REQUIRE((value != nullptr) == (found != expected.end()));
        BOOST_TEST_REQUIRE((value == nullptr || *value == found->second));
    }
    BOOST_TEST(map.size() == expected.size());
    for (const auto& [key, value] : expected)
        BOOST_TEST_REQUIRE((map.contains(key) && *map.find(key) == value));
    for (const auto& [key, value] : map)
        BOOST_TEST_REQUIRE((expected.contains(key) && expected[key] == value));
}

BOOST_AUTO_TEST_CASE(any_number_is_a_key) {
    FlatMap<int> map;
    for (const std::uint64_t key : {std::uint64_t{0}, UINT64_MAX, std::uint64_t{1} << 63})
        BOOST_TEST(++map[key] == 1);
    map.erase(5);
    BOOST_TEST(map.size() == 3u);
    map.erase(0);
    BOOST_TEST(!map.contains(0));
    BOOST_TEST(map.contains(UINT64_MAX));
}

BOOST_AUTO_TEST_CASE(is_of_use_after_it_was_cleared) {
    FlatMap<int> map;
    for (std::uint64_t key = 0; key < 1000; ++key)
        map[key] = 1;
    map.clear();
    BOOST_TEST(map.empty());
    BOOST_TEST(!map.contains(7));
    BOOST_TEST(map[7] == 0);
    BOOST_TEST(map.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
