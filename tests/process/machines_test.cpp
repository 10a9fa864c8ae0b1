/// The newest machines, each as a mode of simcuda, and the entry points of drivers after CUDA 13.0.
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>

BOOST_FIXTURE_TEST_SUITE(process_machines_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

struct Mode {
    const char *config, *word, *text;
    const char* refused; ///< of --act prefetch,stage,rewrite=all; by |
};
std::ostream& operator<<(std::ostream& out, const Mode& mode) {
    return out << mode.config;
}

const Mode modes[] = {
    {"discrete", "discrete", "simcuda H200 model, discrete", ""},
    {"hmm", "hmm", "simcuda H200 model, discrete with HMM", "issue 1223"},
    {"numa", "coherent_numa", "simcuda GH200 model, coherent (NUMA)",
     "--act rewrite is refused|--act stage is refused"},
    {"cdmm", "coherent_cdmm", "simcuda GH200 model, coherent (CDMM)",
     "--act rewrite is refused|--act stage is refused"},
    {"pool", "one_pool", "simcuda GB10 model, one pool of memory", "share one memory|--act stage is refused"},
};

Outcome run_mode(const Folder& folder, const Mode& mode, const std::string& command,
                 const std::string& more = "") {
    return run_sim(folder, "SIMCUDA_CONFIG=memory=" + std::string(mode.config) + " " + more +
                               " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + examples + "/sim/" +
                               command);
}

std::uint64_t address(const Json& text) {
    return std::stoull(text.get<std::string>(), nullptr, 16);
}

std::uint64_t copied_bytes(const Json& simcuda_report) {
    std::uint64_t bytes = 0;
    for (const Json& total : simcuda_report.at("copies"))
        bytes += total.at("bytes").get<std::uint64_t>();
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_newer_driver_has_its_entry_points_recorded_to_the_byte) {
    BOOST_TEST(ends(check_unnoticed(folder, "newer_entries", "SIMCUDA_REPORT=simcuda.json", "-new"), 0));
    const Json told = report(folder);
    std::map<std::string, std::uint64_t> by_entry;
    std::uint64_t bytes = told.at("graphs").at("copied_bytes");
    by_entry["cuGraphAddNode_v3"] = bytes;
    const auto copies = dump(folder, "Copy", {{"status", 0}});
    for (const Json& copy : copies) {
        bytes += copy.at("bytes").get<std::uint64_t>();
        by_entry[copy.at("entry")] += copy.at("bytes").get<std::uint64_t>();
    }
    BOOST_TEST(bytes == copied_bytes(Json::parse(read(folder / "simcuda.json"))));
    const std::map<std::string, std::uint64_t> expected{
        {"cuMemcpyWithAttributesAsync", (3 << 20) + (3 << 19)},
        {"cuMemcpyWithAttributesAsync_ptsz", 1000},
        {"cuMemcpy3DWithAttributesAsync", 1024 * 16},
        {"cuMemcpy3DWithAttributesAsync_ptsz", 1024 * 3},
        {"cuGraphAddNode_v3", 2 * 5000},
    };
    BOOST_TEST(Json(by_entry) == Json(expected));
    BOOST_TEST(dump(folder, "Copy").size() == copies.size() + 2); // those that failed
    BOOST_TEST(hold(dump(folder, "HostFunction"),
                    {{{"entry", "cuLaunchHostFunc_v2"}}, {{"entry", "cuLaunchHostFunc_v2_ptsz"}}}));
    BOOST_TEST(dump(folder, "Graph", {{"entry", "cuStreamBeginRecaptureToGraph"}, {"status", 801}}).size() ==
               1u);
    BOOST_TEST(told.at("unknown_lookups").empty());
    BOOST_TEST(hold(dump(folder, "Counter", {{"entry", "cuMemGetLocationInfo"}}), {{{"count", 2}}}));
}

/// A driver of 13.0 has none of them: a look-up is answered as without umadvisor.
BOOST_AUTO_TEST_CASE(an_older_driver_does_not_have_them) {
    BOOST_TEST(ends(check_unnoticed(folder, "newer_entries"), 3));
}

BOOST_DATA_TEST_CASE(the_report_names_the_memory_mode, data::make(modes), mode) {
    const Outcome outcome = run_mode(folder, mode, "vector_add_managed");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(report(folder).at("devices").at(0).at("memory_mode") == mode.word);
    const std::string text = run(folder, advisor + " report x.umtrace").out;
    BOOST_TEST(says(text.substr(0, text.find('\n')), std::string(" · ") + mode.text + " · "));
    BOOST_TEST(run(folder, advisor + " report --html -o page.html x.umtrace").status == 0);
    const std::string page = read(folder / "page.html"), name = mode.text;
    const std::size_t comma = name.find(", ");
    BOOST_TEST(says(page, "<b>" + name.substr(0, comma) + "</b>" + name.substr(comma)));
}

BOOST_DATA_TEST_CASE(pageable_memory_among_the_parameters_is_recorded_where_kernels_reach_it, data::make(modes),
                     mode) {
    const bool reaches = std::string(mode.config) != "discrete";
    const char* const row =
        reaches ? "rule_cases --rule UMA-217 --case fault" : "rule_cases --rule UMA-217 --case clean";
    BOOST_TEST(run_mode(folder, mode, row).status == 0);
    std::map<std::uint64_t, std::uint64_t> bytes;
    for (const Json& range : dump(folder, "HostRange"))
        bytes[range.at("id")] = address(range.at("last")) - address(range.at("first"));
    std::uint64_t launches = 0;
    for (const Json& launch : dump(folder, "Launch"))
        for (const Json& range : launch.at("host_ranges"))
            launches += bytes.at(range) >= 2u << 20;
    BOOST_TEST(launches == (reaches ? 6u : 0u));
}

BOOST_DATA_TEST_CASE(act_says_what_it_refuses, data::make(modes), mode) {
    const Outcome outcome =
        run_mode(folder, mode, "pageable_copies", "UMADVISOR_ACT=prefetch,stage,rewrite=all");
    BOOST_TEST(outcome.status == 0, outcome.err);
    std::istringstream refused(mode.refused);
    for (std::string part; std::getline(refused, part, '|');)
        BOOST_TEST(says(outcome.err, part), part << " is not in " << outcome.err);
    if (*mode.refused == '\0')
        BOOST_TEST(lacks(outcome.err, "refused"));
}

BOOST_AUTO_TEST_SUITE_END()
