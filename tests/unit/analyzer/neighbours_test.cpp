#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_neighbours, *umadvisor::test::on_rules("UMA-202"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

namespace {

/// Two allocations of two lines that one kernel and the host use in turn, `apart` bytes from begin to begin.
struct Pair : Program {
    Pair(std::uint64_t size, std::uint64_t other_size, std::uint64_t apart) : Program(size) {
        allocate(other_size, Memory::managed,
                 {.stack = other_line, .id = other, .address = address_of(id) + apart});
        for (int i = 0; i < 30; ++i) {
            looks(i == 0 ? 0 : size, i == 0 ? 0 : other_size, before);
            launch(kernel, {id, other}, 0, launched);
            wait();
            looks(0, 0, after);
        }
    }
    void looks(std::uint64_t host_bytes, std::uint64_t other_host_bytes, trace::SampleMoment moment) {
        look(host_bytes, moment);
        residency(other, std::max<std::uint64_t>(4096, other_bytes), other_host_bytes, moment);
    }
    static constexpr std::uint64_t other = 900;
    std::uint64_t other_line = stack(), other_bytes = 16 * kib;
};

bool names_both(const Finding& finding) {
    return contains(finding.summary, "it shares 64 KiB with cudaMallocManaged 16 KiB");
}

} // namespace

BOOST_AUTO_TEST_CASE(two_in_one_granule_are_told_together) {
    Pair p(16 * kib, 16 * kib, 16 * kib);
    const Finding finding = lone(p, "UMA-202");
    BOOST_TEST(names_both(finding), finding.summary);
    BOOST_TEST(std::ranges::any_of(finding.places, [&](const auto& place) {
        return place.second == p.other_line || place.second == p.line;
    }));
    BOOST_TEST(finding.details.empty()); // the same remedy is no other way
}

BOOST_AUTO_TEST_CASE(granules_of_their_own_are_told_apart) {
    Pair p(16 * kib, 16 * kib, 64 * kib);
    const auto found = findings_of(p);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(!names_both(found[0]), found[0].summary);
    BOOST_TEST(!names_both(found[1]), found[1].summary);
}

BOOST_AUTO_TEST_CASE(large_memory_moves_for_itself) {
    Pair p(16 * mib, 16 * kib, 16 * mib);
    const auto found = findings_of(p);
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(lacks(found[0].summary, "shares 64 KiB"));
}

BOOST_AUTO_TEST_SUITE_END()
