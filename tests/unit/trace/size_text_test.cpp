#include "trace/size_text.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(size_text)

using umadvisor::trace::parse_size;

BOOST_AUTO_TEST_CASE(sizes_in_each_unit) {
    struct Row {
        const char* text;
        std::uint64_t bytes;
    };
    const Row rows[] = {{"0", 0},
                        {"4096", 4096},
                        {"512B", 512},
                        {"3K", 3 << 10},
                        {"3KiB", 3 << 10},
                        {"64M", 64 << 20},
                        {"64MiB", 64 << 20},
                        {"8G", 8ull << 30},
                        {"2TiB", 2ull << 40},
                        {"18446744073709551615", UINT64_MAX},
                        {"16777215T", 16777215ull << 40}};
    for (const Row& row : rows) {
        std::uint64_t bytes = 7;
        BOOST_TEST(parse_size(row.text, bytes), row.text);
        BOOST_TEST(bytes == row.bytes, row.text);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_size) {
    for (const char* text :
         {"", "M", "-1", "1.5G", "64MB", "64m", "18446744073709551616", "16777216T", "1 K", "KB"}) {
        std::uint64_t bytes = 7;
        BOOST_TEST(!parse_size(text, bytes), text);
        BOOST_TEST(bytes == 7u, text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
