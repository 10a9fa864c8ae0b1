/// Programs on a card that is nearly full: none lacks memory under `--act` that has it bare, also beside
/// another process that keeps some.
#include "acted.hpp"

#include <sstream>

BOOST_FIXTURE_TEST_SUITE(process_oom_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

constexpr std::size_t steps = 10'000;
const std::string program = programs + "/oom_steps " + std::to_string(steps) +
                            " 64 3"; // the third sequence of steps is near the end of the card often

const std::string slowest = "slowest allocation ms: ";

/// How each step ended, by its name.
std::map<std::string, std::string> ends(const std::string& out) {
    std::map<std::string, std::string> result;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t last = line.rfind(' '); line.starts_with("step "))
            result[line.substr(0, last)] = line.substr(last + 1);
    return result;
}

/// Both processes on one card. Its file has to be a new one in each run.
std::string card(const char* name) {
    return std::string("SIMCUDA_CONFIG=capacity=64M,card=") + name;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_step_of_two_processes_is_refused_earlier) {
    const Outcome bare = run_bare(folder, program, card("bare"));
    const Outcome acted = run_acted(folder, program, "auto,reuse", card("acted"));
    BOOST_TEST(acted.status == 0, acted.err);
    const auto alone = ends(bare.out), with = ends(acted.out);
    BOOST_TEST(alone.size() == steps);
    BOOST_TEST(with.size() == steps);
    std::size_t refused = 0, earlier = 0;
    for (const auto& [step, end] : alone) {
        const auto found = with.find(step);
        BOOST_TEST_REQUIRE((found != with.end()), step);
        refused += end == "refused";
        earlier += end == "done" && found->second == "refused";
    }
    BOOST_TEST(earlier == 0u);
    BOOST_TEST(refused > 0u); // else the card is not near its end
    std::size_t kept = 0;
    for (const auto& entry : fs::directory_iterator(folder.path))
        if (entry.path().extension() == ".umtrace")
            kept +=
                dump(folder, "Alloc", {{"reason", "reused_device"}}, entry.path().filename().string()).size();
    BOOST_TEST(kept > 20u);
    // A busy machine may take longer than the 10 ms in which memory should be given back: that is said, not
    // checked.
    for (std::size_t at = 0; (at = acted.err.find(slowest, at)) != std::string::npos; at += slowest.size())
        std::printf("{\"metric\": \"oom.slowest.ms\", \"value\": %g}\n",
                    std::stod(acted.err.substr(at + slowest.size())));
    std::printf(
        "{\"metric\": \"oom.earlier\", \"value\": %zu}\n{\"metric\": \"oom.refused\", \"value\": %zu}\n",
        earlier, refused);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_given_back_to_the_call_that_needs_it) {
    const std::string config = "SIMCUDA_CONFIG=capacity=64M";
    run_unseen(folder, programs + "/kept_memory full", "reuse", config, config);
    const std::vector<Json> large = dump(folder, "Alloc", {{"bytes", 56u << 20}, {"entry", "cuMemAlloc_v2"}});
    BOOST_TEST_REQUIRE(large.size() == 1u);
    BOOST_TEST(large[0].at("status") == 0);
    BOOST_TEST(notices(report(folder), "what was kept has been given back"));
}

BOOST_AUTO_TEST_SUITE_END()
