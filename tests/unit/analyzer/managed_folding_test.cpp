#include "analyzer/advice/findings.hpp"
#include "managed_program.hpp"

BOOST_AUTO_TEST_SUITE(analyzer_managed_folding,
                      *umadvisor::test::on_rules("UMA-202 UMA-203 UMA-204 UMA-207 UMA-210 UMA-213"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace test::managed_program;

BOOST_AUTO_TEST_CASE(alternation_is_found_once_and_names_its_lines) {
    Program p(32 * mib);
    p.bounce(9, p.bytes);
    p.free(p.id);
    const Finding finding = lone(p, "UMA-202");
    BOOST_TEST(finding.allocation_stack == p.line);
    BOOST_TEST(finding.stack == p.launched);
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 32 MiB");
    BOOST_TEST(finding.summary ==
               "launch of scale: migrated to the host and back 9 times by page faults, 576 MiB in all");
    BOOST_TEST(evidence(finding, "bytes_to_device") == 9.0 * 32 * mib);
    BOOST_TEST(evidence(finding, "bytes_to_host") == 9.0 * 32 * mib);
    BOOST_TEST(finding.saving_ns ==
                   288 * (up_by_faults - up_by_prefetch + written_by_faults - down_by_prefetch - first_write),
               about);
    BOOST_TEST((finding.confidence == Confidence::medium)); // seen here and there, not counted
    BOOST_TEST(contains(finding.advice,
                        "cudaMemPrefetchAsync(ptr, bytes, {cudaMemLocationTypeDevice, 0}, 0, stream)"));
}

BOOST_FIXTURE_TEST_CASE(what_is_made_on_the_wrong_side_contains_its_first_touch, Program) {
    filled({.regularity = trace::Regularity::regular}).rounds(2);
    const Finding finding = lone(*this, "UMA-204");
    BOOST_TEST(finding.saving_ns == 64 * up_by_faults, about); // the move vanishes
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front().rule->id == "UMA-203");
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(contains(finding.details.front(), "UMA-203"));
    BOOST_TEST(contains(finding.details.front(), "cudaMemPrefetchAsync"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(there_and_back_for_nobody_contains_the_way_there, Program) {
    look(0, before).round();
    for (int i = 0; i < 3; ++i)
        to_host().wait().to_device().wait();
    const Finding finding = lone(*this, "UMA-210");
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front().rule->id == "UMA-213");
}

BOOST_FIXTURE_TEST_CASE(allocations_of_one_line_are_one_finding, Program) {
    bounce(4).free(id);
    id = managed(bytes, line);
    const Finding finding = lone(bounce(4), "UMA-202");
    BOOST_TEST(evidence(finding, "allocations") == 2);
    BOOST_TEST(evidence(finding, "times") == 8);
    BOOST_TEST(finding.allocation_text == "cudaMallocManaged 64 MiB x 2");
}

BOOST_FIXTURE_TEST_CASE(stacks_with_one_line_are_one_finding, Program) {
    bounce(4);
    id = managed(bytes, stack());
    bounce(4);
    reader::Trace trace(path());
    const rules::Profile profile(trace);
    const auto one_line = advice::find_all(profile, [](ids::StackId) { return ids::StackId(1); }).all;
    BOOST_TEST(evidence(lone(one_line, "UMA-202"), "allocations") == 2);
    BOOST_TEST(ids_of(*this) == "UMA-202 UMA-202");
}

BOOST_FIXTURE_TEST_CASE(memory_that_umadvisor_made_managed_is_not_the_programs, Program) {
    id = allocate(bytes, Memory::managed, {.stack = line, .origin = trace::Origin::umadvisor});
    nothing_in(bounce(4));
}

BOOST_FIXTURE_TEST_CASE(prefetches_by_umadvisor_are_no_fault_of_the_run, Program) {
    filled();
    Scenario::prefetch(id, bytes, trace::Location::device, trace::Origin::umadvisor);
    nothing_in(look(0, before).round());
}

BOOST_AUTO_TEST_CASE(calls_are_the_drivers_where_the_program_uses_no_runtime) {
    Program read(whole, false), touched(whole, false);
    read.runs("_Z3sumPKfi").bounce(4, whole, 5);
    BOOST_TEST(contains(lone(read, "UMA-207").advice, "cuMemAdvise(ptr, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, "
                                                      "{CU_MEM_LOCATION_TYPE_DEVICE, device})"));
    touched.filled().round();
    BOOST_TEST(contains(lone(touched, "UMA-203").advice,
                        "cuMemPrefetchAsync(ptr, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, device}, 0, stream)"));
}

BOOST_AUTO_TEST_SUITE_END()
