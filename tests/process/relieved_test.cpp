/// `--act relieve`: programs whose host and device take memory from each other move less, and print the same.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_relieved_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

/// The driver's own relief does not come to help: a wait of simulated time is short. Empty `act`: bare.
Counted relieve(const Folder& folder, const std::string& name, const std::string& act,
                const std::string& config = "thrashing=0") {
    return count(folder, sim + name, act, config);
}

Repair relief(const Folder& folder, const std::string& name, const std::string& act = "relieve") {
    return repair(folder, sim + name, act, "thrashing=0");
}

/// CUmem_advise of umadvisor's own advice, in order.
std::vector<int> advised(const Folder& folder) {
    std::vector<int> found;
    for (const Json& advice : dump(folder, "Advise", {{"origin", "umadvisor"}}))
        found.push_back(advice.at("advice"));
    return found;
}

bool told(const Folder& folder, const std::string& text) {
    return notices(report(folder), text);
}

struct Fault {
    const char* name;
    std::vector<int> advice;
};
std::ostream& operator<<(std::ostream& out, const Fault& fault) {
    return out << fault.name;
}
const Fault faults[] = {{"read_by_both", {1}}, {"renewed_seldom", {1}}, {"shared_flags", {5}}};

/// Whether the driver's queue was read, from one time on after the other.
std::vector<bool> asked(const Folder& folder) {
    std::vector<bool> found;
    for (const Json& detail : dump(folder, "ManagedDetail"))
        found.push_back(detail.at("kinds") != 0);
    return found;
}

} // namespace

BOOST_DATA_TEST_CASE(relief_ends_the_turns, data::make(faults) * data::make({"relieve", "prefetch,relieve"}),
                     fault, act) {
    const Counted idle = relieve(folder, std::string(fault.name) + " --rounds 1", "");
    const auto [bare, helped] = relief(folder, fault.name, act);
    BOOST_TEST((advised(folder) == fault.advice));
    // Beside what has to move once, a fifth is left: the rounds in which there was something to learn.
    BOOST_TEST(helped.moved() - idle.moved() <= (bare.moved() - idle.moved()) / 5,
               fault.name << ": " << bare.moved() << " -> " << helped.moved() << ", at least " << idle.moved());
    BOOST_TEST(helped.host_faults < bare.host_faults);
    BOOST_TEST(told(folder, "--act relieve: Set"));
}

/// The driver lets copies from memory that prefers the host overtake the default stream.
BOOST_AUTO_TEST_CASE(copies_of_relieved_memory_stay_in_order) {
    const std::string program = sim + "flags_copied";
    const std::string late = "LD_LIBRARY_PATH=" + simcuda + "-late:" + simcuda;
    run_unseen(folder, program, "relieve", late, late);
    BOOST_TEST((advised(folder) == std::vector{5}));
}

BOOST_AUTO_TEST_CASE(advice_that_helps_no_longer_is_taken_back) {
    const auto [bare, tried] = relief(folder, "renewed_later");
    BOOST_TEST(tried.moved() <= bare.moved());
    BOOST_TEST((advised(folder) == std::vector{1, 2}));
    BOOST_TEST(told(folder, "the copies did not last"));
}

BOOST_DATA_TEST_CASE(other_memory_is_left_as_it_is, data::make({"ping_pong", "resident"}), name) {
    const auto [bare, watched] = relief(folder, name);
    BOOST_TEST(watched.moved() == bare.moved());
    BOOST_TEST(watched.host_faults == bare.host_faults);
    BOOST_TEST(advised(folder).empty());
    const bool said = told(folder, "--act relieve leaves");
    BOOST_TEST(said == (std::string(name) == "ping_pong"));
}

BOOST_DATA_TEST_CASE(the_queue_rests_while_nothing_can_be_relieved, data::make({"relieve", "auto"}), act) {
    relieve(folder, "ping_pong --rounds 40", act); // under auto prefetches move it
    BOOST_TEST((asked(folder) == std::vector{true, false}));
    BOOST_TEST(report(folder).at("managed").at("totals").at("exact") == false);
    const std::string text = run_sim(folder, advisor + " report --managed x.umtrace").out;
    BOOST_TEST(says(text, "did not read the driver's queue"));
    BOOST_TEST(says(text, "    ]  h host")); // where it was by then is not known
}

BOOST_AUTO_TEST_CASE(the_queue_is_read_again_when_other_memory_comes_back) {
    const auto [bare, helped] = relief(folder, "flags_later");
    BOOST_TEST(helped.host_faults < bare.host_faults);
    BOOST_TEST((advised(folder) == std::vector{5}));
    BOOST_TEST((asked(folder) == std::vector{true, false, true}));
}

BOOST_AUTO_TEST_CASE(a_queue_that_cannot_be_read_again_is_given_up) {
    const std::string bare = relieve(folder, "flags_later", "").out;
    // It enables counters and events once, and then counters, or neither, again.
    for (const auto& [config, line] : {std::pair{"tools_enables=2", "the driver refuses its counters"},
                                       {"tools_enables=3", "the driver refuses its events"}}) {
        const Counted given_up =
            relieve(folder, "flags_later", "relieve", std::string("thrashing=0,") + config);
        BOOST_TEST(given_up.out == bare);
        BOOST_TEST(advised(folder).empty());
        BOOST_TEST(told(folder, line), line);
    }
}

BOOST_AUTO_TEST_CASE(the_queue_does_not_rest_where_it_was_asked_for_by_name) {
    run_acted(folder, sim + "ping_pong --rounds 40", "relieve", "UMADVISOR_UM=queue");
    BOOST_TEST((asked(folder) == std::vector{true}));
    BOOST_TEST(report(folder).at("managed").at("totals").at("exact") == true);
}

BOOST_AUTO_TEST_CASE(relief_is_refused_where_it_cannot_be_had) {
    const std::string bare = relieve(folder, "shared_flags", "").out;
    for (const auto& [config, line] : {std::pair{"tools_queue=0", "needs the driver's tools queue"},
                                       {"concurrent=0", "no device has concurrentManagedAccess"}}) {
        if (std::string(config) != "concurrent=0") // the program itself needs it
            BOOST_TEST(relieve(folder, "shared_flags", "relieve", config).out == bare);
        else
            run_acted(folder, sim + "shared_flags", "relieve", std::string("SIMCUDA_CONFIG=") + config);
        BOOST_TEST(advised(folder).empty());
        BOOST_TEST(told(folder, line), line);
    }
}

BOOST_AUTO_TEST_CASE(advice_that_the_driver_refuses_changes_nothing) {
    const std::string bare = relieve(folder, "shared_flags", "").out;
    for (const char* which : {"1:1", "0:719"}) {
        const Counted refused =
            relieve(folder, "shared_flags", "relieve", std::string("thrashing=0,fail=cuMemAdvise:") + which);
        BOOST_TEST(refused.out == bare, which);
        BOOST_TEST((advised(folder) == std::vector{5}));
        BOOST_TEST(!told(folder, "--act relieve: "), which);
    }
}

BOOST_AUTO_TEST_CASE(advice_that_cannot_be_taken_back_stays) {
    const std::string bare = relieve(folder, "renewed_later", "").out;
    for (const char* answer : {"1", "719"}) {
        const Counted refused = relieve(folder, "renewed_later", "relieve",
                                        std::string("thrashing=0,fail=cuMemAdvise:2:") + answer);
        BOOST_TEST(refused.out == bare);
        BOOST_TEST((advised(folder) == std::vector{1, 2}));
        BOOST_TEST(told(folder, "--act relieve: SetReadMostly"));
        BOOST_TEST(!told(folder, "--act relieve: took"));
    }
}

/// Those that relief stands on: no device is known, or at one time none is current. The program makes none of
/// them itself.
BOOST_DATA_TEST_CASE(calls_about_devices_may_fail,
                     data::make({"cuDeviceGetCount", "cuDeviceGetAttribute", "cuCtxGetDevice"}) *
                         data::make({"shared_flags", "renewed_later"}),
                     entry, name) {
    const std::string bare = relieve(folder, name, "").out;
    for (const char* failure : {":1:719", ":2:719", ":3:1", ":0:719"})
        BOOST_TEST(relieve(folder, name, "relieve", std::string("thrashing=0,fail=") + entry + failure).out ==
                       bare,
                   entry << failure);
    BOOST_TEST(advised(folder).empty());
}

BOOST_AUTO_TEST_CASE(what_was_not_given_is_not_taken_back) {
    const std::string bare = relieve(folder, "read_by_both", "").out;
    BOOST_TEST(relieve(folder, "read_by_both", "relieve", "thrashing=0,fail=cuCtxGetDevice:1:719").out == bare);
    BOOST_TEST(advised(folder).empty());
}

BOOST_AUTO_TEST_SUITE_END()
