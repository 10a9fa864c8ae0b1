/// Calls that fail: in which order, and what is told of them.
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_calls_fail)

using namespace umadvisor;
using findings::Finding;
using test::evidence;
using test::findings_of;
using test::mib;
using test::ms;
using test::Scenario;
using trace::Memory;

namespace {

/// An allocation of device memory that the driver has no room for.
void run_out_of_memory(Scenario& s, std::uint64_t bytes, std::uint64_t stack, Memory memory = Memory::device) {
    trace::Alloc record;
    record.start = s.now += 1000;
    record.entry = s.entry(memory == Memory::device ? "cuMemAlloc_v2" : "cuMemHostAlloc");
    record.stack = stack;
    record.bytes = bytes;
    record.memory = memory;
    record.status = 2;
    s.builder.add(record);
}

Finding lone_failure(Scenario& s) {
    auto found = findings_of(s);
    std::erase_if(found, [](const Finding& finding) { return finding.rule->id != "UMA-701"; });
    BOOST_REQUIRE(found.size() == 1u);
    return found.front();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_kernel_that_dies_is_told_once_and_first) {
    Scenario s;
    const auto upload = s.stack(), wait = s.stack();
    s.copy_often(256 * mib, 26 * ms, {.stack = upload});
    s.synchronize({.stack = wait, .status = 700});
    for (int i = 0; i < 87; ++i)
        s.copy(mib, 1000, {.stack = upload, .status = 700});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].rule->id == "UMA-701");
    BOOST_TEST(found[0].stack == wait);
    BOOST_TEST(found[0].summary == "cudaDeviceSynchronize fails, 1 time: an illegal memory access of a kernel "
                                   "(cudaErrorIllegalAddress); 87 calls behind it failed, too");
    BOOST_TEST(found[1].rule->id == "UMA-101");
    BOOST_TEST(evidence(found[1], "copies") == 4);
}

BOOST_AUTO_TEST_CASE(uploads_that_fail_in_the_middle_come_first) {
    Scenario s;
    const auto upload = s.stack(), one = s.stack(), other = s.stack();
    s.copy_often(256 * mib, 26 * ms, {.stack = upload});
    s.copy(mib, 1000, {.stack = other, .status = 1});
    s.copy(mib, 1000, {.stack = one, .status = 1});
    s.copy_often(256 * mib, 26 * ms, {.stack = upload});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 3u);
    BOOST_TEST(found[0].stack == other);
    BOOST_TEST(found[1].stack == one);
    BOOST_TEST(found[1].rule->name == "calls-fail");
    BOOST_TEST(found[2].stack == upload);
}

BOOST_AUTO_TEST_CASE(lines_and_errors_are_told_apart) {
    Scenario s;
    const auto one = s.stack(), other = s.stack();
    s.copy(mib, 1000, {.stack = other, .status = 1});
    for (int i = 0; i < 3; ++i)
        s.copy(mib, 1000, {.stack = one, .status = 1});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].stack == other); // it failed first
    BOOST_TEST(evidence(found[1], "failed") == 3);
}

BOOST_AUTO_TEST_CASE(out_of_memory_says_who_held_it) {
    Scenario s;
    const auto few = s.stack(), most = s.stack(), managed = s.stack(), asking = s.stack();
    s.allocate(64 * mib, Memory::device, few);
    for (int i = 0; i < 3; ++i)
        s.allocate(256 * mib, Memory::device, most);
    s.free(s.allocate(2048 * mib, Memory::device, few));
    s.allocate(512 * mib, Memory::managed, managed);
    s.allocate(4096 * mib, Memory::pinned, few, trace::Origin::program, "cuMemHostAlloc");
    run_out_of_memory(s, 1024 * mib, asking);
    s.allocate(128 * mib, Memory::device, few); // later
    run_out_of_memory(s, 2048 * mib, asking);
    const Finding finding = lone_failure(s);
    BOOST_TEST(finding.stack == asking);
    BOOST_TEST(finding.summary ==
               "cudaMalloc of 1 GiB fails, 2 times: out of memory (cudaErrorMemoryAllocation)");
    const std::vector<std::pair<std::string, std::uint64_t>> held{
        {"held 768 MiB then: cudaMalloc, 3 allocations", most},
        {"held 512 MiB then: cudaMallocManaged, managed, 1 allocation", managed},
        {"held 64 MiB then: cudaMalloc, 1 allocation", few}};
    BOOST_TEST((finding.places == held));
    BOOST_TEST(evidence(finding, "bytes") == 1024 * mib);
    BOOST_TEST(evidence(finding, "held_bytes") == (64 + 768 + 512) * mib);
    BOOST_TEST(evidence(finding, "held_managed_bytes") == 512 * mib);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(
        finding.details[0].starts_with(
            "the program held 1.31 GiB then, 512 MiB of it managed, which may be on the host; the device has "),
        finding.details[0]);
}

BOOST_AUTO_TEST_CASE(out_of_page_locked_memory_is_a_matter_of_the_host) {
    Scenario s;
    const auto line = s.stack();
    s.allocate(64 * mib, Memory::device, line);
    s.allocate(256 * mib, Memory::pinned, line, trace::Origin::program, "cuMemHostAlloc");
    run_out_of_memory(s, 1024 * mib, s.stack(), Memory::pinned);
    const Finding finding = lone_failure(s);
    BOOST_TEST(finding.places.size() == 1u);
    BOOST_TEST(finding.details.front() == "the program held 256 MiB of page-locked memory then");
}

BOOST_AUTO_TEST_CASE(a_program_that_held_nothing_says_so) {
    Scenario s;
    run_out_of_memory(s, 1024 * mib, s.stack());
    const Finding finding = lone_failure(s);
    BOOST_TEST(finding.places.empty());
    BOOST_TEST(finding.details.front().starts_with("the program held nothing then; the device has "),
               finding.details.front());
}

BOOST_AUTO_TEST_CASE(answers_are_no_failures) {
    Scenario s;
    s.synchronize({.kind = trace::SyncKind::stream_query, .status = 600});
    s.copy(mib, 1000, {.status = 4}); // the process ends
    BOOST_TEST(findings_of(s).empty());
}

BOOST_AUTO_TEST_SUITE_END()
