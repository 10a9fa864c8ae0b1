/// Programs nobody changed, run under the shim on simcuda: what the trace holds is what happened.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>

BOOST_FIXTURE_TEST_SUITE(process_trace_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const char* const linkages[] = {"sim", "sim-static"};

struct Example {
    const char* name;
    const char* rule; ///< the finding it is named after, or none
};

std::ostream& operator<<(std::ostream& out, const Example& example) {
    return out << example.name;
}

const Example faulty[] = {
    {"pageable_copies", "UMA-102"}, {"pingpong", "UMA-202"},       {"vector_add_managed", "UMA-204"},
    {"small_copies", "UMA-103"},    {"static_managed", "UMA-201"}, {"fresh_scratch", "UMA-401"},
    {"checked_often", "UMA-501"},
};

const Example clean[] = {
    {"pinned_copies", "UMA-102"},  {"pinned_copies", "UMA-103"}, {"prefetched_add", "UMA-203"},
    {"prefetched_add", "UMA-202"}, {"kept_scratch", "UMA-401"},  {"checked_once", "UMA-501"},
    {"pinned_copies", "UMA-109"},
};

Outcome run_recorded(const Folder& folder, const std::string& linkage, const std::string& name,
                     const std::string& options = "") {
    return run_sim(folder, "export SIMCUDA_REPORT=sim.json; " + advisor + " run -q -f -o x.umtrace " + options +
                               " -- " + examples + "/" + linkage + "/" + name);
}

} // namespace

BOOST_DATA_TEST_CASE(faults_are_found, data::make(linkages) * data::make(faulty), linkage, example) {
    const Outcome bare = run_sim(folder, examples + "/" + linkage + "/" + example.name);
    BOOST_TEST(same(run_recorded(folder, linkage, example.name), bare));
    const auto found = report(folder);
    BOOST_TEST(finds(found, example.rule), found.dump(1));
}

BOOST_DATA_TEST_CASE(clean_twins_are_left_alone, data::make(linkages) * data::make(clean), linkage, example) {
    BOOST_TEST(run_recorded(folder, linkage, example.name).status == 0);
    const auto found = report(folder);
    BOOST_TEST(!finds(found, example.rule), found.dump(1));
}

BOOST_DATA_TEST_CASE(every_example_behaves_as_alone,
                     data::make({"overlap", "oversubscribe", "prefetched_add", "graph_replay"}), name) {
    setenv("SIMCUDA_CONFIG", std::string(name) == "oversubscribe" ? "capacity=128MiB" : "", 1);
    const Outcome bare = run_sim(folder, sim + name);
    const Outcome watched = run_recorded(folder, "sim", name);
    unsetenv("SIMCUDA_CONFIG");
    BOOST_TEST(bare.status == 0, bare.err);
    BOOST_TEST(same(watched, bare));
}

BOOST_AUTO_TEST_CASE(the_finding_names_the_line) {
    run_recorded(folder, "sim", "pageable_copies");
    const Outcome text = run(folder, advisor + " report x.umtrace");
    BOOST_TEST(ends(text, 0, "pageable_copies.cu:"));
    BOOST_TEST(says(text.out, "upload("));
    BOOST_TEST(says(text.out, "cudaMemcpy"));
}

BOOST_DATA_TEST_CASE(copy_totals_equal_an_independent_count,
                     data::make({"pageable_copies", "pinned_copies", "small_copies", "overlap",
                                 "graph_replay"}),
                     name) {
    BOOST_TEST(run_recorded(folder, "sim", name).status == 0);
    check_copies(report(folder), driver_report(folder));
}

BOOST_AUTO_TEST_CASE(nothing_committed_is_lost_to_sigkill) {
    const Outcome outcome = record(folder, programs + "/killed launches");
    BOOST_TEST(outcome.status == 128 + 9, outcome.err);
    std::uint64_t launched = 0;
    std::ifstream(folder / "launches", std::ios::binary)
        .read(reinterpret_cast<char*>(&launched), sizeof launched);
    BOOST_TEST(launched == 50000u);
    const auto launches = dump(folder, "Launch");
    BOOST_TEST(launches.size() >= launched);
    for (const auto& launch : launches) {
        BOOST_TEST_REQUIRE(says(launch.at("function"), "count_up"), launch.dump());
        BOOST_TEST_REQUIRE(launch.at("touched").size() == 1u);
    }
    const Outcome text = run(folder, advisor + " report x.umtrace");
    BOOST_TEST(ends(text, 0, "cut"));
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_killed_programs_trace_made_before_it_was_read_passes_no_gate) {
    run_sim(folder, "UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs + "/killed launches");
    BOOST_TEST_REQUIRE(run(folder, "cp x.umtrace copy.umtrace").status == 0);
    const std::string check = advisor + " check --baseline x.umtrace ";
    const Outcome whole = run(folder, check + "x.umtrace"); // what was in memory is in the file from here on
    BOOST_TEST(whole.status == 0, whole.err);
    BOOST_TEST(whole.err == "");
    const Outcome lossy = run(folder, check + "copy.umtrace");
    BOOST_TEST(lossy.status == 1, lossy.out);
    BOOST_TEST(lossy.err.starts_with("umadvisor: copy.umtrace: records are missing: its last moments "),
               lossy.err);
    BOOST_TEST(run(folder, "cp x.umtrace later.umtrace && " + check + "later.umtrace").status == 0);
}

BOOST_AUTO_TEST_CASE(act_prefetch_ends_the_faults) {
    for (const char* name : {"vector_add_managed", "pingpong"}) {
        const Outcome bare = run_recorded(folder, "sim", name);
        BOOST_TEST(driver_report(folder).at("device_fault_groups") > 0u);
        BOOST_TEST(same(run_recorded(folder, "sim", name, "--act prefetch"), bare));
        BOOST_TEST(driver_report(folder).at("device_fault_groups") == 0u, name);
        BOOST_TEST(!dump(folder, "Prefetch", {{"origin", "umadvisor"}}).empty());
    }
}

BOOST_AUTO_TEST_CASE(act_prefetch_looks_at_nothing_that_it_prefetches_anyway) {
    const auto looks_before_launches = [&] {
        std::vector<double> starts;
        for (const auto& look : dump(folder, "Residency", {{"moment", "before_launch"}}))
            starts.push_back(look.at("start_ns"));
        return starts;
    };
    run_recorded(folder, "sim", "pingpong");
    const auto first_launch = dump(folder, "Launch").at(0).at("start_ns").get<double>();
    const auto bare = looks_before_launches();
    BOOST_TEST(std::count_if(bare.begin(), bare.end(), [&](double look) { return look < first_launch; }) == 1);
    run_recorded(folder, "sim", "pingpong", "--act prefetch");
    const auto first_prefetch = dump(folder, "Prefetch").at(0).at("start_ns").get<double>();
    const auto helped = looks_before_launches();
    BOOST_TEST(
        std::count_if(helped.begin(), helped.end(), [&](double look) { return look < first_prefetch; }) == 0);
    BOOST_TEST(!helped.empty()); // what the host took back is looked for
}

BOOST_DATA_TEST_CASE(act_rewrite_keeps_results,
                     data::make({"pageable_copies", "pinned_copies", "small_copies", "overlap", "pingpong"}),
                     name) {
    const Outcome bare = run_recorded(folder, "sim", name);
    BOOST_TEST(same(run_recorded(folder, "sim", name, "--act rewrite=all"), bare));
    BOOST_TEST(dump(folder, "Alloc", {{"memory", "device"}}).empty());
    const bool ours = !dump(folder, "Alloc", {{"origin", "umadvisor"}}).empty();
    BOOST_TEST((ours || std::string(name) == "pingpong"));
}

BOOST_AUTO_TEST_CASE(act_is_refused_without_concurrent_access) {
    BOOST_TEST(ends(record(folder, sim + "pinned_copies", "--act rewrite=all", "-nocma"), 0,
                    "concurrentManagedAccess"));
    for (const auto& allocation : dump(folder, "Alloc"))
        BOOST_TEST(allocation.at("origin") == "program");
}

BOOST_AUTO_TEST_CASE(odd_drivers_are_survived_and_reported) {
    for (const std::string variant : {"-old", "-nocma", "-2dev", "-odd"}) {
        const Outcome bare = run_sim(folder, sim + "pinned_copies", variant);
        BOOST_TEST(bare.status == 0, variant + bare.err);
        BOOST_TEST(same(record(folder, sim + "pinned_copies", "-q", variant), bare), variant);
        const Json unknown = report(folder).at("unknown_lookups");
        BOOST_TEST(unknown.empty() == (variant != "-odd"), unknown);
    }
}

BOOST_AUTO_TEST_CASE(graphs_are_read_from_an_old_driver_too) {
    const Outcome outcome = record(folder, sim + "graph_replay --mib 1 --rounds 3", "-q", "-old");
    BOOST_TEST(outcome.status == 0, outcome.err);
    const auto graphs = report(folder).at("graphs");
    BOOST_TEST(holds(graphs, {{"kernels", 6}, {"copies", 12}, {"copied_bytes", 12u << 20}, {"unknown", 0}}));
}

BOOST_AUTO_TEST_SUITE_END()
