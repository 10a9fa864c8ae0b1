/// `--act relieve`: programs whose host and device take memory from each other move less, and print the same.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(process_relieved_test)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

/// The driver's own relief does not come to help: a wait of simulated time is short. Empty `act`: bare.
Counted relieve(const Folder& folder, const std::string& name, const std::string& act,
                const std::string& config = "thrashing=0") {
    return count(folder, examples + "/sim/" + name, act, config);
}

/// CUmem_advise of umadvisor's own advice, in order.
std::vector<int> advised(const Folder& folder) {
    std::vector<int> found;
    for (const Json& advice : dump(folder, "x.umtrace", "Advise"))
        if (advice.at("origin") == "umadvisor")
            found.push_back(advice.at("advice"));
    return found;
}

bool told(const Folder& folder, const std::string& text) {
    return notices(report(folder, "x.umtrace"), text);
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
    const Counted bare = relieve(folder, fault.name, "");
    const Counted idle = relieve(folder, std::string(fault.name) + " --rounds 1", "");
    const Counted helped = relieve(folder, fault.name, act);
    BOOST_TEST(helped.out == bare.out);
    BOOST_TEST((advised(folder) == fault.advice));
    // Beside what has to move once, a fifth is left: the rounds in which there was something to learn.
    BOOST_TEST(helped.moved() - idle.moved() <= (bare.moved() - idle.moved()) / 5,
               fault.name << ": " << bare.moved() << " -> " << helped.moved() << ", at least " << idle.moved());
    BOOST_TEST(helped.host_faults < bare.host_faults);
    BOOST_TEST(told(folder, "--act relieve: Set"));
}

BOOST_AUTO_TEST_CASE(advice_that_helps_no_longer_is_taken_back) {
    const Folder folder;
    const Counted bare = relieve(folder, "renewed_later", "");
    const Counted tried = relieve(folder, "renewed_later", "relieve");
    BOOST_TEST(tried.out == bare.out);
    BOOST_TEST(tried.moved() <= bare.moved());
    BOOST_TEST((advised(folder) == std::vector{1, 2}));
    BOOST_TEST(told(folder, "the copies did not last"));
}

BOOST_DATA_TEST_CASE(other_memory_is_left_as_it_is, data::make({"ping_pong", "resident"}), name) {
    const Folder folder;
    const Counted bare = relieve(folder, name, "");
    const Counted watched = relieve(folder, name, "relieve");
    BOOST_TEST(watched.out == bare.out);
    BOOST_TEST(watched.moved() == bare.moved());
    BOOST_TEST(watched.host_faults == bare.host_faults);
    BOOST_TEST(advised(folder).empty());
    const bool said = told(folder, "--act relieve leaves");
    BOOST_TEST(said == (std::string(name) == "ping_pong"));
}

BOOST_AUTO_TEST_CASE(relief_is_refused_where_it_cannot_be_had) {
    const Folder folder;
    const std::string bare = relieve(folder, "shared_flags", "").out;
    for (const auto& [config, line] : {std::pair{"tools_queue=0", "needs the driver's tools queue"},
                                       {"concurrent=0", "no device has concurrentManagedAccess"}}) {
        if (std::string(config) != "concurrent=0") // the program itself needs it
            BOOST_TEST(relieve(folder, "shared_flags", "relieve", config).out == bare);
        else
            run_acted(folder, examples + "/sim/shared_flags", "relieve",
                      std::string("SIMCUDA_CONFIG=") + config);
        BOOST_TEST(advised(folder).empty());
        BOOST_TEST(told(folder, line), line);
    }
}

BOOST_AUTO_TEST_CASE(advice_that_the_driver_refuses_changes_nothing) {
    const Folder folder;
    const std::string bare = relieve(folder, "shared_flags", "").out;
    for (const char* which : {"1", "2"}) {
        const Counted refused = relieve(folder, "shared_flags", "relieve",
                                        std::string("thrashing=0,fail=cuMemAdvise:") + which + ":1");
        BOOST_TEST(refused.out == bare);
        BOOST_TEST(advised(folder).size() == (*which == '1' ? 1u : 3u));
    }
}

BOOST_AUTO_TEST_SUITE_END()
