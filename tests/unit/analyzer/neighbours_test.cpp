#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_neighbours)

using namespace umadvisor;
using namespace test::managed_program;
using test::mib;
using test::ms;

namespace {

constexpr std::uint64_t kib = 1024;

/// Two allocations of two lines that one kernel and the host use in turn, `apart` bytes from begin to begin.
struct Pair : Program {
    Pair(std::uint64_t size, std::uint64_t other_size, std::uint64_t apart) : Program(size) {
        trace::Alloc record;
        record.entry = entry("cuMemAllocManaged");
        record.start = now;
        record.stack = other_line;
        record.allocation = other;
        record.address = test::address_of(id) + apart;
        record.bytes = other_size;
        record.memory = trace::Memory::managed;
        builder.add(record);
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
    const Finding finding = only_finding(p);
    BOOST_TEST(finding.rule->id == "UMA-202");
    BOOST_TEST(names_both(finding), finding.summary);
    BOOST_TEST(std::ranges::any_of(finding.places, [&](const auto& place) {
        return place.second == p.other_line || place.second == p.line;
    }));
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(contains(finding.details[0], "in part also UMA-202"), finding.details[0]);
}

BOOST_AUTO_TEST_CASE(granules_of_their_own_are_told_apart) {
    Pair p(16 * kib, 16 * kib, 64 * kib);
    const auto found = test::findings_of(p);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(!names_both(found[0]), found[0].summary);
    BOOST_TEST(!names_both(found[1]), found[1].summary);
}

BOOST_AUTO_TEST_CASE(large_memory_moves_for_itself) {
    Pair p(16 * mib, 16 * kib, 16 * mib);
    const auto found = test::findings_of(p);
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(!contains(found[0].summary, "shares 64 KiB"), found[0].summary);
}

BOOST_AUTO_TEST_SUITE_END()
