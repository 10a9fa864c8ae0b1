/// `--act relieve`: programs whose host and device take memory from each other move less, and print the same.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(process_relieved_test)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

/// One run and what it cost.
struct Relieved {
    Outcome outcome;
    std::uint64_t moved = 0, host_faults = 0;
};

/// The driver's own relief does not come to help: a wait of simulated time is short. Empty `act`: bare.
Relieved run_with(const Folder& folder, const std::string& name, const std::string& act,
                  const std::string& config = "thrashing=0") {
    const std::string command = examples + "/sim/" + name;
    Relieved result{run_sim(
        folder,
        "export SIMCUDA_REPORT=sim.json SIMCUDA_CONFIG=" + config + "; " +
            (act.empty() ? command : advisor + " run -q -f -o x.umtrace --act " + act + " -- " + command))};
    BOOST_TEST(result.outcome.status == 0, name << ": " << result.outcome.out << result.outcome.err);
    const Json counted = Json::parse(read(folder / "sim.json"));
    for (const char* way : {"bytes_to_device", "bytes_to_host"})
        for (const auto& [cause, bytes] : counted.at(way).items())
            result.moved += bytes.get<std::uint64_t>();
    result.host_faults = counted.at("host_faults");
    return result;
}

/// CUmem_advise of umadvisor's own advice, in order.
std::vector<int> advised(const Folder& folder) {
    std::vector<int> found;
    for (const Json& advice : dump(folder, "x.umtrace", "Advise"))
        if (advice.at("origin") == "umadvisor")
            found.push_back(advice.at("advice"));
    return found;
}

std::string told(const Folder& folder) {
    const Json found = report(folder, "x.umtrace");
    std::string text;
    for (const Json& notice : found.at("notices"))
        text += notice.get<std::string>() + "\n";
    return text;
}

struct Fault {
    const char* name;
    std::vector<int> advice;
};
std::ostream& operator<<(std::ostream& out, const Fault& fault) {
    return out << fault.name;
}
const Fault faults[] = {{"read_by_both", {1}}, {"renewed_seldom", {1}}, {"shared_flags", {3, 5}}};

} // namespace

BOOST_DATA_TEST_CASE(relief_ends_the_turns, data::make(faults) * data::make({"relieve", "prefetch,relieve"}),
                     fault, act) {
    const Folder folder;
    const Relieved bare = run_with(folder, fault.name, "");
    const Relieved idle = run_with(folder, std::string(fault.name) + " --rounds 1", "");
    const Relieved helped = run_with(folder, fault.name, act);
    BOOST_TEST(helped.outcome.out == bare.outcome.out);
    BOOST_TEST((advised(folder) == fault.advice));
    // Beside what has to move once, a fifth is left: the rounds in which there was something to learn.
    BOOST_TEST(helped.moved - idle.moved <= (bare.moved - idle.moved) / 5,
               fault.name << ": " << bare.moved << " -> " << helped.moved << ", at least " << idle.moved);
    BOOST_TEST(helped.host_faults < bare.host_faults);
    BOOST_TEST(told(folder).find("--act relieve: Set") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(advice_that_helps_no_longer_is_taken_back) {
    const Folder folder;
    const Relieved bare = run_with(folder, "renewed_later", "");
    const Relieved tried = run_with(folder, "renewed_later", "relieve");
    BOOST_TEST(tried.outcome.out == bare.outcome.out);
    BOOST_TEST(tried.moved <= bare.moved);
    BOOST_TEST((advised(folder) == std::vector{1, 2}));
    BOOST_TEST(told(folder).find("the copies did not last") != std::string::npos);
}

BOOST_DATA_TEST_CASE(other_memory_is_left_as_it_is, data::make({"ping_pong", "resident"}), name) {
    const Folder folder;
    const Relieved bare = run_with(folder, name, "");
    const Relieved watched = run_with(folder, name, "relieve");
    BOOST_TEST(watched.outcome.out == bare.outcome.out);
    BOOST_TEST(watched.moved == bare.moved);
    BOOST_TEST(watched.host_faults == bare.host_faults);
    BOOST_TEST(advised(folder).empty());
    const bool said = told(folder).find("--act relieve leaves") != std::string::npos;
    BOOST_TEST(said == (std::string(name) == "ping_pong"));
}

BOOST_AUTO_TEST_CASE(relief_is_refused_where_it_cannot_be_had) {
    const Folder folder;
    const std::string bare = run_with(folder, "shared_flags", "").outcome.out;
    for (const auto& [config, line] : {std::pair{"tools_queue=0", "needs the driver's tools queue"},
                                       {"concurrent=0", "no device has concurrentManagedAccess"}}) {
        if (std::string(config) != "concurrent=0") // the program itself needs it
            BOOST_TEST(run_with(folder, "shared_flags", "relieve", config).outcome.out == bare);
        else
            run_sim(folder, std::string("SIMCUDA_CONFIG=") + config + " " + advisor +
                                " run -q -f -o x.umtrace --act relieve -- " + examples + "/sim/shared_flags");
        BOOST_TEST(advised(folder).empty());
        BOOST_TEST(told(folder).find(line) != std::string::npos, line);
    }
}

BOOST_AUTO_TEST_CASE(advice_that_the_driver_refuses_changes_nothing) {
    const Folder folder;
    const std::string bare = run_with(folder, "shared_flags", "").outcome.out;
    for (const char* which : {"1", "2"}) {
        const Relieved refused = run_with(folder, "shared_flags", "relieve",
                                          std::string("thrashing=0,fail=cuMemAdvise:") + which + ":1");
        BOOST_TEST(refused.outcome.out == bare);
        BOOST_TEST(advised(folder).size() == (*which == '1' ? 1u : 3u));
    }
}

BOOST_AUTO_TEST_SUITE_END()
