/// Plans: what a trace says of allocations that are shared with other processes, and of copies that are staged.
#include "analyzer/reports/plan/plan.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <tuple>

BOOST_AUTO_TEST_SUITE(analyzer_plan)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::ordered_json;

struct Program : Scenario {
    std::uint64_t site(std::uint64_t key) {
        trace::Frame frame{.id = 1000 + ++frames_};
        frame.address = 0x400000 + frame.id * 16;
        frame.key = key;
        builder.add(frame);
        return frame.id;
    }
    void option(std::string_view name, std::string_view value) {
        builder.add(trace::Option{.option = name, .value = value});
    }

private:
    std::uint64_t frames_ = 0;
};

/// Allocates under --act rewrite, and shares.
struct Sharing : Program {
    std::uint64_t rewritten(std::uint64_t stack) {
        return allocate(2 * mib, trace::Memory::managed,
                        {.stack = stack, .symbol = "cuMemAlloc_v2", .origin = trace::Origin::umadvisor});
    }
    void left(std::uint64_t stack) {
        trace::Alloc record{
            .bytes = mib, .memory = trace::Memory::device, .reason = trace::Reason::never_rewrite};
        record.stack = stack;
        call(record, "cuMemAlloc_v2");
    }
    void share(std::uint64_t allocation, std::uint64_t offset = 0, std::uint64_t status = 1,
               trace::IpcAction action = trace::IpcAction::export_memory) {
        trace::Ipc record{.action = action, .address = address_of(allocation) + offset};
        record.status = status;
        call(record, "cuIpcGetMemHandle");
    }
};

/// Copies pageable memory to the device.
struct Copying : Program {
    explicit Copying(std::string_view act) {
        if (!act.empty())
            option("ACT", act);
    }
    /// 8 MiB take 0.8 ms by an H200's driver.
    void copies(std::uint64_t stack, int count, CopyOptions options, std::uint64_t duration = 400'000) {
        options.stack = stack;
        for (int i = 0; i < count; ++i)
            copy(8 * mib, duration, options);
    }
    void staged(std::uint64_t stack, int count, std::uint64_t duration = 400'000, std::uint64_t waited = 0) {
        copies(stack, count, {.staged = true, .wait_duration = waited}, duration);
    }
    void left(std::uint64_t stack, trace::Reason reason) { copies(stack, 1, {.reason = reason}); }
};

/// Of their traces, one after the other.
ordered_json plan_of(std::initializer_list<Program*> programs) {
    reports::Plan plan;
    for (Program* const program : programs) {
        advice::Report report(program->path());
        plan.add(report);
    }
    return plan.document();
}

ordered_json sites(Program& program) {
    return plan_of({&program})["never_rewrite"];
}

std::vector<std::string> keys(const ordered_json& entries) {
    std::vector<std::string> all;
    for (const ordered_json& entry : entries)
        all.push_back(entry.value("key", ""));
    return all;
}
using Keys = std::vector<std::string>;

BOOST_FIXTURE_TEST_CASE(what_could_not_be_shared_is_never_rewritten, Sharing) {
    const std::uint64_t first = rewritten(site(0xabc)), second = rewritten(site(0xdef));
    rewritten(site(0x123));
    share(first, mib);
    share(second);
    share(second);
    const ordered_json told = sites(*this);
    BOOST_TEST_REQUIRE(told.size() == 2u);
    BOOST_TEST(told[0]["key"] == "0000000000000abc");
    BOOST_TEST(told[0]["why"].get<std::string>().find("shared with other processes") != std::string::npos);
    BOOST_TEST(told[1]["key"] == "0000000000000def");
}

BOOST_FIXTURE_TEST_CASE(what_was_not_refused_or_is_not_ours_is_left_out, Sharing) {
    const std::uint64_t fine = rewritten(site(1)), gone = rewritten(site(2)), nameless = rewritten(site(0)),
                        theirs = allocate(mib, trace::Memory::managed, site(3));
    share(fine, 0, 0);
    share(fine, 2 * mib); // just behind it
    share(fine, 0, 1, trace::IpcAction::close_memory);
    free(gone);
    share(gone);
    share(nameless);
    share(theirs);
    share(0);
    BOOST_TEST(sites(*this).empty());
}

BOOST_FIXTURE_TEST_CASE(what_the_last_plan_named_is_kept, Sharing) {
    const std::uint64_t both = site(7);
    left(site(5));
    left(both);
    share(rewritten(both));
    const ordered_json told = sites(*this);
    BOOST_TEST_REQUIRE(told.size() == 2u);
    BOOST_TEST(told[0]["key"] == "0000000000000005");
    BOOST_TEST(told[0]["why"] == "an earlier plan names it");
    BOOST_TEST(told[1]["why"] != told[0]["why"]);
}

BOOST_AUTO_TEST_CASE(without_act_a_plan_names_copies_that_would_have_been_staged) {
    Copying program("");
    const std::uint64_t site = program.site(0xabc);
    program.copies(site, 3, {});
    program.copy(2 * mib - 1, 1000, {.stack = program.site(0xdef)});
    program.copies(program.site(1), 2, {.source = trace::Memory::pinned});
    program.copies(program.site(2), 2, {.batch = 1});
    program.copies(program.site(3), 2, {.status = 1});
    program.copies(program.site(4), 2, {.origin = trace::Origin::umadvisor});
    const ordered_json plan = plan_of({&program});
    BOOST_TEST(plan["modes"] == ordered_json::array({"stage"}));
    BOOST_TEST_REQUIRE(plan["stage"].size() == 1u, plan.dump(1));
    BOOST_TEST(plan["stage"][0]["key"] == "0000000000000abc");
    BOOST_TEST(plan["stage"][0]["copies"] == 3);
    BOOST_TEST(plan["stage"][0]["bytes"] == 24 * mib);
    BOOST_TEST(plan["never_stage"].empty());
}

BOOST_AUTO_TEST_CASE(with_act_it_names_what_was_staged) {
    Copying program("stage");
    program.staged(program.site(1), 2);
    program.copies(program.site(2), 3, {}); // another copy had the ring
    const ordered_json plan = plan_of({&program});
    BOOST_TEST((keys(plan["stage"]) == Keys{"0000000000000001"}));
    BOOST_TEST(plan["stage"][0]["bytes"] == 16 * mib);
    Copying other("prefetch");
    other.copies(other.site(1), 3, {});
    BOOST_TEST(plan_of({&other})["stage"].empty());
    BOOST_TEST(plan_of({&other})["modes"] == ordered_json::array({"prefetch"}));
}

BOOST_AUTO_TEST_CASE(calls_without_a_key_count_by_their_line) {
    Copying program("stage");
    program.staged(program.site(0), 2);
    program.staged(0, 1);
    program.left(program.site(0), trace::Reason::slower_staged);
    const ordered_json plan = plan_of({&program});
    BOOST_TEST((keys(plan["stage"]) == Keys{"", ""}), plan.dump(1));
    BOOST_TEST(plan["modes"] == ordered_json::array({"stage"}));
    BOOST_TEST(plan["never_stage"].empty());
}

BOOST_AUTO_TEST_CASE(several_traces_tell_what_passes_in_one_run) {
    Copying first("stage"), second("stage");
    first.staged(first.site(1), 2);
    first.staged(first.site(2), 5);
    second.staged(second.site(1), 3);
    second.staged(second.site(2), 4);
    const ordered_json plan = plan_of({&first, &second});
    BOOST_TEST_REQUIRE(plan["stage"].size() == 2u);
    BOOST_TEST(plan["stage"][0]["copies"] == 3);
    BOOST_TEST(plan["stage"][1]["bytes"] == 40 * mib);
}

BOOST_AUTO_TEST_CASE(where_the_driver_was_faster_nothing_is_staged_again) {
    Copying program("auto"), before("stage");
    const std::uint64_t site = program.site(1);
    program.staged(site, 6);
    program.left(site, trace::Reason::compared);
    program.left(site, trace::Reason::slower_staged);
    const std::uint64_t compared = program.site(2);
    program.staged(compared, 6);
    program.left(compared, trace::Reason::compared);
    before.staged(before.site(1), 9);
    for (const ordered_json& plan : {plan_of({&program, &before}), plan_of({&before, &program})}) {
        BOOST_TEST((keys(plan["stage"]) == Keys{"0000000000000002"}), plan.dump(1));
        BOOST_TEST((keys(plan["never_stage"]) == Keys{"0000000000000001"}));
        BOOST_TEST(plan["never_stage"][0]["why"] == "the driver turned out to be faster");
    }
}

BOOST_AUTO_TEST_CASE(what_was_slower_staged_than_by_the_driver_is_not_staged_again) {
    Copying program("stage");
    for (const auto& [site, count, duration, waited] :
         {std::tuple{1u, 4, 2'000'000u, 0u},
          {2u, 3, 2'000'000u, 0u},         // too few to tell
          {3u, 4, 2'000'000u, 1'900'000u}, // of which work before them took most
          {4u, 4, 2'000'000u, 0u}}) {      // none made by the driver
        const auto stack = program.site(site);
        program.staged(stack, count, duration, waited);
        if (site != 4)
            program.left(stack, trace::Reason::compared); // in 0.4 ms
    }
    const ordered_json plan = plan_of({&program});
    BOOST_TEST((keys(plan["never_stage"]) == Keys{"0000000000000001"}), plan.dump(1));
    BOOST_TEST(
        plan["never_stage"][0]["why"].get<std::string>().starts_with("its 4 staged copies lost about 6.4"));
    BOOST_TEST((keys(plan["stage"]) == Keys{"0000000000000002", "0000000000000003", "0000000000000004"}));
}

BOOST_AUTO_TEST_CASE(what_the_last_plan_left_to_the_driver_is_kept) {
    Copying program("plan=x.json");
    program.option("PLAN", "stage");
    program.left(program.site(1), trace::Reason::never_stage);
    program.staged(program.site(2), 2);
    const ordered_json plan = plan_of({&program});
    BOOST_TEST((keys(plan["never_stage"]) == Keys{"0000000000000001"}), plan.dump(1));
    BOOST_TEST(plan["never_stage"][0]["why"] == "an earlier plan names it");
    BOOST_TEST((keys(plan["stage"]) == Keys{"0000000000000002"}));
    Copying judged("auto");
    judged.left(judged.site(1), trace::Reason::slower_staged);
    for (const ordered_json& both : {plan_of({&program, &judged}), plan_of({&judged, &program})})
        BOOST_TEST(both["never_stage"][0]["why"] == "the driver turned out to be faster");
}

BOOST_AUTO_TEST_SUITE_END()
