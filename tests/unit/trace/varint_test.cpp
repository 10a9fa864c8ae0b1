#include "trace/varint.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <vector>

BOOST_AUTO_TEST_SUITE(varint)

using namespace umadvisor::trace;

namespace {

constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint64_t> edges() {
    std::vector<std::uint64_t> values{0, greatest};
    for (int bit = 0; bit < 64; ++bit)
        for (const std::uint64_t off : {greatest, std::uint64_t{0}, std::uint64_t{1}})
            values.push_back((std::uint64_t{1} << bit) + off);
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_power_of_two_and_its_neighbours_come_back) {
    for (const std::uint64_t value : edges()) {
        std::uint8_t bytes[max_varint_bytes];
        const std::uint8_t* end = put_varint(bytes, value);
        const int significant = 64 - (value == 0 ? 63 : __builtin_clzll(value));
        BOOST_TEST(end - bytes == (significant + 6) / 7);
        std::uint64_t read = ~value;
        BOOST_TEST(get_varint(bytes, end, read) == end);
        BOOST_TEST(read == value);
        for (const std::uint8_t* cut = bytes; cut != end; ++cut)
            BOOST_TEST(get_varint(bytes, cut, read) == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(more_than_64_bits_are_refused) {
    std::uint64_t value = 0;
    std::uint8_t bytes[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0};
    BOOST_TEST(get_varint(bytes, bytes + 10, value) == bytes + 10);
    BOOST_TEST(value == greatest);
    bytes[9] = 0x02;
    BOOST_TEST(get_varint(bytes, bytes + 10, value) == nullptr);
    bytes[9] = 0x81;
    BOOST_TEST(get_varint(bytes, bytes + 11, value) == nullptr);
}

BOOST_AUTO_TEST_CASE(padded_numbers_are_read) {
    const std::uint8_t bytes[] = {0x85, 0x80, 0x00};
    std::uint64_t value = 0;
    BOOST_TEST(get_varint(bytes, bytes + 3, value) == bytes + 3);
    BOOST_TEST(value == 5u);
}

BOOST_AUTO_TEST_CASE(zigzag_keeps_small_differences_small) {
    BOOST_TEST(zigzag(0) == 0u);
    BOOST_TEST(zigzag(0 - std::uint64_t{1}) == 1u);
    BOOST_TEST(zigzag(1) == 2u);
    BOOST_TEST(zigzag(std::uint64_t{1} << 63) == greatest);
    for (const std::uint64_t value : edges())
        BOOST_TEST(unzigzag(zigzag(value)) == value);
}

BOOST_AUTO_TEST_SUITE_END()
