/// What a run has learned, as a plan for the next: `umadvisor plan` and `--act plan=FILE`.
#include "acted.hpp"

using namespace umadvisor::test;

BOOST_FIXTURE_TEST_SUITE(process_plan_test, umadvisor::test::InFolder)

namespace {

constexpr const char* rounds = " --rounds 12";

Outcome play(const Folder& folder, const std::string& act, const std::string& arguments = rounds,
             const std::string& name = "pingpong") {
    return run_sim(folder, "export SIMCUDA_REPORT=sim.json; " + advisor + " run -q -f -o x.umtrace " +
                               (act.empty() ? "" : "--act " + act) + " -- " + sim + name + arguments);
}

Json plan_of(const Folder& folder) {
    const Outcome outcome = run(folder, advisor + " plan -f -o p.json x.umtrace");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    return Json::parse(read(folder / "p.json"));
}

std::uint64_t counted(const Folder& folder, const char* what) {
    return driver_report(folder).at(what);
}

/// When what was prefetched to the host, and when the program waited first, in nanoseconds.
std::vector<double> starts_of(const Folder& folder, const char* reason) {
    std::vector<double> starts;
    for (const Json& each : dump(folder, "Prefetch", {{"reason", reason}}))
        starts.push_back(each.at("start_ns"));
    return starts;
}

const std::string shares = programs + "/rewritten_memory ";

/// What made each allocation of device memory, in the order of the program.
std::vector<std::string> makers(const Folder& folder) {
    std::vector<std::string> all;
    for (const Json& each : dump(folder, "Alloc"))
        all.push_back(each.at("origin").get<std::string>() + " " + each.at("reason").get<std::string>());
    return all;
}
using Makers = std::vector<std::string>;
const std::string ours = "umadvisor rewrite_all", left = "program never_rewrite", plain = "program none";

const std::string copies = programs + "/staged_copies ";

std::size_t staged(const Folder& folder, const char* from) {
    return dump(folder, "Copy", {{"source_memory", from}, {"staged", 1}}).size();
}

using Keys = std::vector<std::string>;

Keys keys(const Json& entries) {
    Keys all;
    for (const Json& entry : entries)
        all.push_back(entry.at("key"));
    return all;
}

void write(const Folder& folder, const Json& plan) {
    std::ofstream(folder / "p.json") << plan.dump(2);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_next_run_knows_from_the_first_wait_on) {
    const Outcome bare = play(folder, "");
    const Outcome first = play(folder, "prefetch");
    BOOST_TEST(first.out == bare.out);
    const std::uint64_t learning = counted(folder, "host_faults");
    const Json plan = plan_of(folder);
    BOOST_TEST(plan["schema"] == "umadvisor-plan-1");
    BOOST_TEST(plan["modes"] == Json::array({"prefetch"}));
    BOOST_TEST_REQUIRE(plan["host_returns"].size() == 1u, plan.dump(1));
    const Json& habit = plan["host_returns"][0];
    BOOST_TEST(habit["wait"].get<std::string>().find("pingpong.cu:") == 0u, habit.dump());
    BOOST_TEST(habit["allocation"].get<std::string>().find("pingpong.cu:") == 0u, habit.dump());
    BOOST_TEST(habit["last"] == habit["allocation_bytes"]);

    BOOST_TEST(same(play(folder, "plan=p.json"), bare));
    BOOST_TEST(counted(folder, "device_fault_groups") == 0u);
    BOOST_TEST(counted(folder, "host_faults") < learning);
    const auto first_wait = dump(folder, "Sync").at(0).at("start_ns").get<double>();
    const auto launches = dump(folder, "Launch");
    const auto home = starts_of(folder, "host_returns");
    BOOST_TEST_REQUIRE(!home.empty());
    BOOST_TEST(home.front() > first_wait);
    BOOST_TEST(home.front() < launches.at(1).at("start_ns").get<double>());
    // A run under a plan makes a plan.
    BOOST_TEST(plan_of(folder)["host_returns"][0]["key"] == habit["key"]);
}

BOOST_AUTO_TEST_CASE(what_has_changed_is_left_alone) {
    play(folder, "prefetch");
    plan_of(folder);
    const Outcome bare = play(folder, "", " --mib 16 --rounds 1");
    BOOST_TEST(same(play(folder, "plan=p.json", " --mib 16 --rounds 1"), bare));
    BOOST_TEST(starts_of(folder, "host_returns").empty());
    const Outcome other = play(folder, "plan=p.json", "", "vector_add_managed");
    BOOST_TEST(other.status == 0, other.err);
    BOOST_TEST(starts_of(folder, "host_returns").empty());
}

BOOST_AUTO_TEST_CASE(call_sites_that_a_plan_forbids_are_not_prefetched_for) {
    play(folder, "prefetch");
    Json plan = plan_of(folder);
    for (const Json& frame : dump(folder, "Frame"))
        if (const auto key = frame.at("key").get<std::string>().substr(2); key != "0")
            plan["never_prefetch"].push_back({{"key", std::string(16 - key.size(), '0') + key}});
    std::ofstream(folder / "never.json") << plan.dump(2);
    const Outcome never = play(folder, "plan=never.json");
    BOOST_TEST(never.status == 0, never.err);
    BOOST_TEST(counted(folder, "device_fault_groups") > 0u);
    BOOST_TEST(starts_of(folder, "not_resident").empty());
}

BOOST_AUTO_TEST_CASE(what_is_shared_is_left_to_the_driver_and_the_rest_is_rewritten) {
    const Outcome bare = run_bare(folder, shares + "share_one");
    const Outcome first = run_acted(folder, shares + "share_one", "rewrite=all");
    BOOST_TEST(first.out != bare.out);
    BOOST_TEST((makers(folder) == Makers{ours, plain}));
    const Json plan = plan_of(folder);
    BOOST_TEST(plan["modes"] == Json::array({"rewrite=all"}));
    BOOST_TEST_REQUIRE(plan["never_rewrite"].size() == 1u, plan.dump(1));
    const Json& site = plan["never_rewrite"][0];
    BOOST_TEST(site["key"].get<std::string>().size() == 16u);
    BOOST_TEST(says(site["why"], "is shared with other processes"));

    const Outcome second = run_acted(folder, shares + "share_one", "plan=p.json");
    BOOST_TEST(second.out == bare.out);
    BOOST_TEST(lacks(second.err, "switched off"));
    BOOST_TEST((makers(folder) == Makers{left, ours}));
    BOOST_TEST(notices(report(folder), "what call sites of the plan allocate"));
    // The card is as good as full: the driver is asked for the one, and the other is spilled.
    const Outcome spilled =
        run_acted(folder, shares + "share_one", "plan=p.json,rewrite=spill --pretend-memory 1M --budget 64M");
    BOOST_TEST(spilled.out == bare.out, spilled.err);
    BOOST_TEST((makers(folder) == Makers{plain, "umadvisor spill"}));
}

BOOST_AUTO_TEST_CASE(a_plan_keeps_what_the_one_before_left_to_the_driver) {
    const Outcome bare = run_bare(folder, shares + "share");
    run_acted(folder, shares + "share", "rewrite=all");
    const Json first = plan_of(folder);
    run_acted(folder, shares + "share", "plan=p.json"); // which meets the other allocation
    BOOST_TEST((makers(folder) == Makers{left, ours}));
    const Json second = plan_of(folder);
    BOOST_TEST(second["modes"] == first["modes"]);
    BOOST_TEST_REQUIRE(second["never_rewrite"].size() == 2u, second.dump(1));
    BOOST_TEST(same(run_acted(folder, shares + "share", "plan=p.json"), bare));
    BOOST_TEST((makers(folder) == Makers{left, left}));
}

BOOST_AUTO_TEST_CASE(copies_of_a_run_without_act_are_staged_by_the_next) {
    const Outcome bare = record(folder, copies + "rounds");
    const Json plan = plan_of(folder);
    BOOST_TEST(plan["modes"] == Json::array({"stage"}));
    BOOST_TEST_REQUIRE(plan["stage"].size() == 2u, plan.dump(1));
    for (const Json& site : plan["stage"]) {
        BOOST_TEST(site["line"].get<std::string>().find("staged_copies.cpp:") == 0u, site.dump());
        BOOST_TEST(site["copies"] == 12);
        BOOST_TEST(site["bytes"] == 12 * (9 << 20));
    }
    BOOST_TEST(same(run_acted(folder, copies + "rounds", "plan=p.json"), bare));
    BOOST_TEST(staged(folder, "pageable") == 12u);
    BOOST_TEST(staged(folder, "device") == 12u);
    BOOST_TEST(plan_of(folder)["stage"] == plan["stage"]); // a run under a plan makes a plan
}

BOOST_AUTO_TEST_CASE(copies_that_a_plan_forbids_are_left_to_the_driver_run_after_run) {
    const Outcome bare = record(folder, copies + "rounds");
    Json plan = plan_of(folder);
    BOOST_TEST_REQUIRE(plan["stage"].size() == 2u, plan.dump(1));
    const std::string left = plan["stage"][0]["key"], kept = plan["stage"][1]["key"];
    plan["never_stage"] = {{{"key", "ffffffffffffffff"}}, {{"key", left}}};
    write(folder, plan);
    for (int round = 0; round < 2; ++round) {
        BOOST_TEST(same(run_acted(folder, copies + "rounds", "plan=p.json"), bare));
        BOOST_TEST(staged(folder, "pageable") + staged(folder, "device") == 12u);
        BOOST_TEST(notices(report(folder), "copies at call sites that the plan names"));
        const Json next = plan_of(folder);
        BOOST_TEST((keys(next["never_stage"]) == Keys{left}), next.dump(1));
        BOOST_TEST((keys(next["stage"]) == Keys{kept}));
    }
}

BOOST_AUTO_TEST_CASE(calls_that_auto_gave_up_are_left_to_the_driver_at_once) {
    const Outcome bare = run_bare(folder, copies + "rounds");
    run_acted(folder, copies + "rounds", "auto", "SIMCUDA_CONFIG=pageable=1000G");
    const Json plan = plan_of(folder);
    BOOST_TEST(plan["stage"].empty());
    BOOST_TEST_REQUIRE(plan["never_stage"].size() == 2u, plan.dump(1));
    BOOST_TEST(plan["never_stage"][0]["why"] == "the driver turned out to be faster");
    BOOST_TEST(same(run_acted(folder, copies + "rounds", "plan=p.json"), bare));
    BOOST_TEST(staged(folder, "pageable") + staged(folder, "device") == 0u);
}

/// Longer rows than the first ring holds tell whether it was large; and where there is no memory for that, it
/// is made as small as ever.
BOOST_AUTO_TEST_CASE(where_much_is_to_be_staged_the_ring_is_large_at_once) {
    const Outcome bare = record(folder, copies + "rows");
    Json plan = plan_of(folder);
    const auto pinned = [&](std::uint64_t bytes, const std::string& config) {
        plan["stage"] = {{{"bytes", bytes - 1}}, {{"bytes", 1}}};
        write(folder, plan);
        BOOST_TEST(same(run_acted(folder, copies + "rows", "plan=p.json",
                                  "SIMCUDA_REPORT=sim.json SIMCUDA_CONFIG=" + config),
                        bare));
        BOOST_TEST(staged(folder, "pageable") == 6u);
        return driver_report(folder).at("calls").at("cuMemHostAlloc").get<unsigned>();
    };
    BOOST_TEST(pinned((1u << 30) - 1, "") == 2u);
    BOOST_TEST(pinned(1u << 30, "") == 1u);
    BOOST_TEST(pinned(1u << 30, "fail=cuMemHostAlloc:1:2") == 3u);
}

BOOST_AUTO_TEST_CASE(without_a_plan_that_can_be_read_the_program_runs_as_it_is) {
    const Outcome bare = run_sim(folder, sim + "pingpong");
    std::ofstream(folder / "cut.json") << "{\"schema\": \"umadvisor-plan-1\", \"modes\": [\"prefetch\"";
    std::ofstream(folder / "other.json") << "{\"schema\": \"umadvisor-report-2\"}";
    std::ofstream(folder / "typed.json") << "{\"schema\": \"umadvisor-plan-1\", \"modes\": \"prefetch\"}";
    std::ofstream(folder / "huge.json") << "{";
    fs::resize_file(folder / "huge.json", std::uint64_t{1} << 40); // a hole
    run(folder, "mkfifo fifo");
    for (const auto& [file, why] : {std::pair("cut.json", "is no JSON"),
                                    {"other.json", "is no plan of schema umadvisor-plan-1"},
                                    {"typed.json", "is JSON, but a value in it is not what a plan has there"},
                                    {"huge.json", "is too large"},
                                    {"missing.json", "cannot be opened"},
                                    {"fifo", "is no regular file"},
                                    {"/dev/zero", "is no regular file"},
                                    {".", "is no regular file"}}) {
        const Outcome outcome = record(folder, sim + "pingpong", std::string("--act plan=") + file);
        BOOST_TEST(same(outcome, bare));
        BOOST_TEST(says(outcome.err, std::string("umadvisor: --act plan=") + file + " " + why +
                                         "; the program runs without it"));
        BOOST_TEST(dump(folder, "Prefetch").empty());
    }
    const Outcome unnamed = run(folder, advisor + " run --act plan= -- true");
    BOOST_TEST(unnamed.status == 2);
}

BOOST_AUTO_TEST_CASE(a_run_without_act_makes_an_empty_plan) {
    play(folder, "");
    BOOST_TEST(plan_of(folder)["host_returns"].empty());
    const Outcome outcome = run(folder, advisor + " plan x.umtrace");
    BOOST_TEST(says(outcome.err, "nothing was learned"));
}

BOOST_AUTO_TEST_SUITE_END()
