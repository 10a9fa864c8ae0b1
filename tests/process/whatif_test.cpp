/// `umadvisor whatif` against simcuda: a run on a card that is large enough foretells one on a smaller card.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_whatif_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

struct Way {
    std::uint64_t to_device, to_host;
};

/// What the driver moved in a run of the program on a card of that size.
Way ran(const Folder& folder, const std::string& program, const std::string& card, const std::string& options) {
    const Outcome outcome = run_sim(folder, "SIMCUDA_REPORT=report.json SIMCUDA_CONFIG=capacity=" + card + " " +
                                                advisor + " run -q -f " + options + " -- " + sim + program);
    BOOST_REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
    const auto told = Json::parse(read(folder / "report.json"));
    return {sum(told.at("bytes_to_device")), sum(told.at("bytes_to_host"))};
}

Json ask(const Folder& folder, const std::string& options) {
    const Outcome outcome = run(folder, advisor + " whatif --json " + options);
    BOOST_REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
    return Json::parse(outcome.out);
}

Way foretold(const Json& found, const std::string& policy) {
    const auto& told = found.at("policies").at(policy);
    return {told.at("to_device_bytes"), told.at("to_host_bytes")};
}

/// A byte more or less where nothing moves is no disagreement of a quarter.
void check_near(std::uint64_t predicted, std::uint64_t actual, const std::string& what) {
    const double off = static_cast<double>(predicted) - static_cast<double>(actual);
    BOOST_TEST(std::abs(off) <= 0.25 * static_cast<double>(actual) + 65536,
               what << ": " << predicted << " instead of " << actual << " bytes");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_large_card_foretells_a_small_one) {
    for (const auto& [program, cards] :
         {std::pair{"training_loop --rounds 3", std::vector{"77M", "64M", "48M"}},
          {"vector_add_managed --mib 32", {"24M", "16M"}},
          {"pingpong --mib 8", {"6M", "4M"}},
          {"pingpong_prefetched --mib 32", {"16M"}},
          {"prefetched_add --mib 32", {"24M"}}}) {
        ran(folder, program, "8G", "-o large.umtrace");
        for (const std::string card : cards) {
            const std::string what = std::string(program) + " on " + card;
            const Json found = ask(folder, "--gpu-memory " + card + " large.umtrace");
            BOOST_TEST(found.at("fits") == false, what);
            for (const auto& [policy, options] : {std::pair{"on_demand", ""}, {"act", "--act prefetch "}}) {
                const Way actual = ran(folder, program, card, std::string(options) + "-o small.umtrace");
                const Way predicted = foretold(found, policy);
                check_near(predicted.to_device, actual.to_device, what + " " + policy + " to device");
                check_near(predicted.to_host, actual.to_host, what + " " + policy + " to host");
                const Way best = foretold(found, "optimum");
                BOOST_TEST(best.to_device <= predicted.to_device, what);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_small_card_foretells_itself) {
    const Way actual = ran(folder, "oversubscribe --rounds 3", "64M", "-o trace.umtrace");
    const Json found = ask(folder, "trace.umtrace");
    BOOST_TEST(found.at("memory_bytes") == 64u << 20);
    check_near(foretold(found, "on_demand").to_device, actual.to_device, "to device");
    check_near(foretold(found, "on_demand").to_host, actual.to_host, "to host");
    // Nothing changes, so the job takes as long as it took.
    const double job = found.at("policies").at("on_demand").at("job_ns");
    BOOST_TEST(job == found.at("recorded").at("duration_ns").get<double>(), boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(only_the_blocks_that_fault_are_reached_where_faults_are_told) {
    ran(folder, "pingpong --mib 8", "8G", "--um-detail faults -o faults.umtrace");
    const Json found = ask(folder, "--gpu-memory 4M faults.umtrace");
    BOOST_TEST(found.at("basis").at("parts_told") == true);
    BOOST_TEST(found.at("launch_bytes") == 8u << 20);
    check_near(foretold(found, "on_demand").to_device, ran(folder, "pingpong --mib 8", "4M", "").to_device,
               "to device");
}

BOOST_AUTO_TEST_CASE(device_memory_pages_only_when_rewritten) {
    ran(folder, "pinned_copies", "8G", "-o trace.umtrace");
    BOOST_TEST(ask(folder, "trace.umtrace").at("fits") == true);
    BOOST_TEST(ask(folder, "--gpu-memory 1M trace.umtrace").at("starts") == false);
    const Json rewritten = ask(folder, "--gpu-memory 1M --act rewrite=all trace.umtrace");
    BOOST_TEST(rewritten.at("starts") == true);
    BOOST_TEST(rewritten.at("device_bytes") == 0u);
}

BOOST_AUTO_TEST_CASE(what_umadvisor_did_in_the_recorded_run_is_known) {
    const std::string program = "pingpong --mib 8";
    ran(folder, program, "8G", "-o bare.umtrace");
    const Json undisturbed = ask(folder, "bare.umtrace");
    BOOST_TEST(undisturbed.at("recorded").at("act") == "");
    const Way bare = foretold(undisturbed, "on_demand");
    for (const std::string act : {"prefetch", "auto", "plan=a.plan.json"}) {
        ran(folder, program, "8G", "--act " + act + " -o acted.umtrace");
        const Json found = ask(folder, "acted.umtrace");
        // Nothing changes, so what moves takes as long as it took.
        BOOST_TEST(found.at("policies").at("act").at("moving_ns") == found.at("recorded").at("moving_ns"), act);
        // What was brought to the host it would have come for by itself.
        const Way acted = foretold(found, "on_demand");
        check_near(acted.to_device, bare.to_device, act + " to device");
        check_near(acted.to_host, bare.to_host, act + " to host");
        BOOST_TEST(found.at("recorded").at("act").get<std::string>().starts_with(act.substr(0, 4)));
        const Outcome text = run(folder, advisor + " whatif acted.umtrace");
        BOOST_TEST(says(text.out, "\nrecorded under --act " + act.substr(0, 4)));
        const Outcome plan = run(folder, advisor + " plan -f -o a.plan.json acted.umtrace");
        BOOST_REQUIRE_MESSAGE(plan.status == 0, plan.err);
    }
}

BOOST_AUTO_TEST_CASE(brief_launches_do_not_tell_what_they_reach) {
    const std::string none = "no launch reaches", unknown = "no launch is known to reach";
    for (const auto& [settings, does_tell] :
         {std::pair{"--act rewrite=all", false}, {"--act stage", false}, {"", true}}) {
        ran(folder, "pinned_copies", "8G", std::string(settings) + " -o trace.umtrace");
        const Outcome found = run(folder, advisor + " whatif --act rewrite=all trace.umtrace");
        BOOST_TEST(found.status == 0, found.err);
        BOOST_TEST(lacks(found.out, none));
        BOOST_TEST((found.out.find(unknown) == std::string::npos) == does_tell, found.out);
        BOOST_TEST((found.out.find("UMADVISOR_LAUNCHES=full") == std::string::npos) == does_tell, found.out);
    }
    // Device memory stays, whatever reaches it.
    ran(folder, "pinned_copies", "8G", "--act stage -o trace.umtrace");
    const Outcome kept = run(folder, advisor + " whatif trace.umtrace");
    BOOST_TEST(says(kept.out, "no launch reaches managed memory; --act rewrite=all"));
}

BOOST_AUTO_TEST_CASE(it_says_so_when_nobody_saw_the_host) {
    ran(folder, "pingpong --mib 8", "8G", "--act stage -o trace.umtrace");
    BOOST_TEST(ask(folder, "trace.umtrace").at("basis").at("host_told") == false);
}

BOOST_AUTO_TEST_CASE(all_devices_that_were_used_are_one_card) {
    for (const auto& [program, devices] :
         {std::pair{programs + "/memory_program devices", 2u}, {sim + "pingpong", 1u}}) {
        const Outcome recorded = run_sim(
            folder, "SIMCUDA_CONFIG=capacity=1G " + advisor + " run -q -f -o trace.umtrace -- " + program,
            "-2dev");
        BOOST_REQUIRE_MESSAGE(recorded.status == 0, recorded.err);
        const Json found = ask(folder, "trace.umtrace");
        BOOST_TEST(found.at("recorded").at("devices") == devices);
        BOOST_TEST(found.at("memory_bytes") == devices << 30);
    }
}

BOOST_AUTO_TEST_CASE(the_text_is_for_people) {
    ran(folder, "pingpong --mib 8", "8G", "-o trace.umtrace");
    const Outcome outcome = run(folder, advisor + " whatif trace.umtrace");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(outcome.out.starts_with("pingpong · on a card of 8 GiB: it fits: 8 MiB at once\n"), outcome.out);
    BOOST_TEST(says(outcome.out, "\n  on demand"));
    BOOST_TEST(lacks(outcome.out, "recorded under"));
    BOOST_TEST(outcome.err == "");
}

BOOST_AUTO_TEST_SUITE_END()
