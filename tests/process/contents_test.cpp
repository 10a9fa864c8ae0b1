/// What the bytes of copies are and what becomes of them: the programs of each rule's row on simcuda.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <cstdint>
#include <set>

BOOST_FIXTURE_TEST_SUITE(process_contents_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

struct Row {
    const char *rule, *kind, *way;
    bool found; ///< a finding of the rule
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.rule << ' ' << row.kind << ' ' << row.way;
}

const Row rows[] = {
    {"UMA-106", "fault", "every-step", true},
    {"UMA-106", "near", "changed", false},
    {"UMA-106", "near", "written", false},
    {"UMA-107", "fault", "unchanged", true},
    {"UMA-107", "near", "changed", false},
    {"UMA-108", "fault", "zeros", true},
    {"UMA-108", "near", "nearly", false},
    {"UMA-303", "fault", "upload", true},
    {"UMA-303", "near", "used", false},
    {"UMA-303", "fault", "memset", true},
    {"UMA-303", "clean", "memset", false},
    {"UMA-602", "fault", "changed", true},
    {"UMA-602", "near", "changed-when-called-back", false},
};

Outcome run_row(const Folder& folder, const Row& row, const std::string& options) {
    return record(folder, sim + "rule_cases --rule " + row.rule + " --case " + row.kind + " --way " + row.way,
                  "-q " + options);
}

} // namespace

BOOST_DATA_TEST_CASE(rows_with_a_fault_and_without, data::make(rows), row) {
    BOOST_TEST(ends(run_row(folder, row, ""), 0));
    const auto found = report(folder);
    BOOST_TEST(finds(found, row.rule) == row.found, found.dump(1));
}

BOOST_AUTO_TEST_CASE(nothing_is_hashed_where_nobody_wants_it) {
    BOOST_TEST(run_row(folder, rows[0], "--hash off").status == 0);
    for (const auto& copy : dump(folder, "Copy"))
        BOOST_TEST(copy.at("part_hash") == 0u);
    BOOST_TEST(!finds(report(folder), "UMA-106"));
}

BOOST_AUTO_TEST_CASE(a_source_that_changes_before_the_wait_has_a_record) {
    const Row fault{"UMA-602", "fault", "changed", true},
        clean{"UMA-602", "clean", "changed-behind-wait", false};
    BOOST_TEST(run_row(folder, fault, "").status == 0);
    std::set<std::uint64_t> uploads;
    for (const auto& copy : dump(folder, "Copy"))
        if (copy.at("asynchronous") == 1u)
            uploads.insert(copy.at("start_ns").get<std::uint64_t>());
    const auto changed = dump(folder, "Content");
    BOOST_TEST(changed.size() == uploads.size());
    for (const auto& content : changed) {
        BOOST_TEST(content.at("source_changed") == 1u);
        BOOST_TEST(uploads.contains(content.at("copy_ns").get<std::uint64_t>()));
    }
    BOOST_TEST(run_row(folder, clean, "").status == 0);
    BOOST_TEST(dump(folder, "Content").empty());
    BOOST_TEST(run_row(folder, fault, "--hash off").status == 0);
    BOOST_TEST(dump(folder, "Content").empty());
}

BOOST_AUTO_TEST_CASE(a_level_that_is_none) {
    const Outcome outcome = run_row(folder, rows[0], "--hash most");
    BOOST_TEST(ends(outcome, 2, "--hash takes off, sample or full, not most"));
}

BOOST_AUTO_TEST_SUITE_END()
