#include "trace/brief_launch.hpp"
#include "trace/decoder.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(brief_launch)

using namespace umadvisor::trace;

BOOST_AUTO_TEST_CASE(it_reads_as_a_launch_with_shape_and_start) {
    constexpr std::uint64_t base = 1'000'000;
    const auto check = [](std::uint64_t shape, std::uint64_t later) {
        std::uint8_t bytes[8];
        BriefLaunch::put(bytes, BriefLaunch::head(shape), later);
        RawRecord raw;
        BOOST_REQUIRE(next_record(bytes, bytes + 8, raw) == bytes + BriefLaunch::bytes);
        BOOST_REQUIRE((raw.type == Type::launch));
        Launch launch;
        DeltaState state{.time = base};
        BOOST_REQUIRE(decode(raw, launch, state));
        BOOST_REQUIRE(launch.shape == shape);
        BOOST_REQUIRE(launch.start == base + later);
        BOOST_REQUIRE((launch.duration | launch.status | launch.sample | launch.stands_for) == 0u);
        BOOST_REQUIRE(BriefLaunch::shape(BriefLaunch::head(shape)) == shape);
    };
    for (std::uint64_t shape = 0; shape < BriefLaunch::shapes; shape += 1 + shape / 5)
        for (std::uint64_t later = 0; later < BriefLaunch::span; later += 1 + later / 7)
            check(shape, later);
    check(BriefLaunch::shapes - 1, BriefLaunch::span - 1);
}

BOOST_AUTO_TEST_CASE(its_bytes) {
    std::uint8_t bytes[8];
    BriefLaunch::put(bytes, BriefLaunch::head(1), 5000); // zigzag(5000) = 10000 = 0x2710
    const std::uint8_t expected[] = {2, 5, 0x81, 0x00, 0x90, 0xce, 0x00};
    BOOST_TEST(std::equal(expected, expected + sizeof expected, bytes));
}

BOOST_AUTO_TEST_SUITE_END()
