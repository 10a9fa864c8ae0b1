#include "trace/checksum.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(chunk_checksum)

using umadvisor::trace::checksum;

namespace {

/// FORMAT.md read literally, byte by byte.
std::uint64_t by_the_book(const std::vector<std::uint8_t>& bytes) {
    std::uint64_t h = 0x9e3779b97f4a7c15u ^ bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t w = 0;
        for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
            w |= std::uint64_t{bytes[at + i]} << (8 * i);
        const std::uint64_t product = (h ^ w) * 0xff51afd7ed558ccdu;
        h = product << 31 | product >> 33;
    }
    return h;
}

std::vector<std::uint8_t> pattern(std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<std::uint8_t>(i * 37 + 11);
    return data;
}

} // namespace

BOOST_AUTO_TEST_CASE(it_is_what_the_format_says) {
    for (std::size_t bytes = 0; bytes < 100; ++bytes) {
        const std::vector<std::uint8_t> data = pattern(bytes);
        BOOST_TEST(checksum(data.data(), data.size()) == by_the_book(data));
    }
}

BOOST_AUTO_TEST_CASE(known_answers_hold) { // the algorithm is part of the format
    const std::uint8_t abc[] = {'a', 'b', 'c'};
    BOOST_TEST(checksum(nullptr, 0) == 0x9e3779b97f4a7c15u);
    BOOST_TEST(checksum(abc, 3) == 0xcc8cbca5a12891f0u);
}

BOOST_AUTO_TEST_CASE(any_flipped_bit_shows) {
    std::vector<std::uint8_t> data = pattern(61);
    const std::uint64_t good = checksum(data.data(), data.size());
    for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
        data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        BOOST_TEST(checksum(data.data(), data.size()) != good);
        data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
}

BOOST_AUTO_TEST_CASE(zeros_at_the_end_count) {
    const std::vector<std::uint8_t> data(16, 0);
    BOOST_TEST(checksum(data.data(), 8) != checksum(data.data(), 9));
    BOOST_TEST(checksum(data.data(), 9) != checksum(data.data(), 16));
}

BOOST_AUTO_TEST_SUITE_END()
