/// Named ranges (NVTX) as steps: what is looked at with --range, and what reports say of each name.
#include "analyzer/advice/findings.hpp"
#include "analyzer/advice/report.hpp"
#include "analyzer/tables/named_ranges.hpp"
#include "command_run.hpp"
#include "found.hpp"
#include "scenario.hpp"

#include <nlohmann/json.hpp>

using namespace umadvisor;
using namespace umadvisor::test;
using trace::RangeAction;

/// A program with named parts.
struct Named : Scenario {
    std::map<std::string, std::uint64_t> strings;

    std::uint64_t text(const std::string& name) {
        if (name.empty())
            return 0;
        const auto [found, fresh] = strings.try_emplace(name, 90'000 + strings.size());
        if (fresh)
            builder.add(trace::String{.id = found->second, .text = found->first});
        return found->second;
    }
    void range(RangeAction action, const std::string& name = "", std::uint32_t thread = 1,
               const std::string& domain = "", std::uint64_t id = 0) {
        trace::Range record{
            .start = now, .action = action, .text = text(name), .domain = text(domain), .id = id};
        builder.add(record, thread);
    }
    void push(const std::string& name, std::uint32_t thread = 1) { range(RangeAction::push, name, thread); }
    void pop(std::uint32_t thread = 1) { range(RangeAction::pop, "", thread); }
};

constexpr std::uint64_t bytes = 64 * mib;

/// Pageable copies that cost time.
void copies(Named& program, std::uint64_t stack, int count = 4) {
    for (int i = 0; i < count; ++i)
        program.copy(bytes, 30 * ms, {.stack = stack, .host_range = 1});
}

struct Looked {
    reader::Trace trace;
    rules::Profile profile;
    std::vector<rules::Finding> found;

    Looked(const std::string& path, const reader::RangeQuery& query = {})
        : trace(path, query),
          profile(trace),
          found(advice::find_all(profile, [](ids::StackId stack) { return stack; }).all) {}
};

double saving(const std::vector<rules::Finding>& found, std::string_view rule) {
    double sum = 0;
    for (const rules::Finding& finding : found)
        sum += finding.rule->id == rule ? finding.saving_ns : 0;
    return sum;
}

const tables::RangeTotals& totals_of(const Looked& looked, std::string_view name) {
    for (const auto& [key, totals] : looked.profile.ranges().names())
        if (looked.trace.dictionary.string(totals.text) == name)
            return totals;
    BOOST_FAIL("no range of this name");
    std::abort();
}

nlohmann::json json_of(const std::vector<std::string>& arguments) {
    const Result result = run(arguments);
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return nlohmann::json::parse(result.out);
}

BOOST_AUTO_TEST_SUITE(analyzer_ranges, *umadvisor::test::on_rules("UMA-101"))

BOOST_FIXTURE_TEST_CASE(a_fault_inside_and_the_same_outside, Named) {
    const std::uint64_t inner = stack(), outer = stack();
    copies(*this, outer);
    push("step");
    copies(*this, inner);
    pop();
    copies(*this, outer);
    const std::string file = path();
    const Looked all(file), inside(file, {"step", ""}), glob(file, {"st*", ""});
    BOOST_TEST(all.found.size() == 2u);
    BOOST_TEST_REQUIRE(inside.found.size() == 1u);
    BOOST_TEST(inside.found.front().stack == inner);
    BOOST_TEST(glob.found.size() == 1u);
    BOOST_TEST(inside.profile.inside()->times == 1u);
    BOOST_TEST(inside.profile.net_ns() < all.profile.net_ns() / 2);
    BOOST_TEST(inside.found.front().saving_ns <= static_cast<double>(inside.profile.net_ns()));
}

BOOST_FIXTURE_TEST_CASE(one_line_that_is_called_inside_and_outside, Named) {
    const std::uint64_t line = stack();
    copies(*this, line, 6);
    push("step");
    copies(*this, line, 4);
    pop();
    const std::string file = path();
    const Looked all(file), inside(file, {"step", ""});
    BOOST_TEST_REQUIRE(inside.found.size() == 1u);
    BOOST_TEST(inside.found.front().stack == line);
    const double ratio = saving(inside.found, "UMA-101") / saving(all.found, "UMA-101");
    BOOST_TEST(ratio > 0.3);
    BOOST_TEST(ratio < 0.5);
    const nlohmann::json document = json_of({"report", "--json", "--range", "step", file});
    BOOST_TEST(document["copies"][0]["count"] == 4);
    BOOST_TEST(document["calls"][0]["count"] == 4);
    BOOST_TEST(document["looked_at"]["count"] == 1);
    BOOST_TEST(document["findings"][0]["per_step_ns"] == document["findings"][0]["saving_ns"]);
    const nlohmann::json stats = json_of({"stats", "--format", "json", "--range", "step", file});
    BOOST_TEST(stats["tables"]["copies"][0]["copies"] == 4);
    BOOST_TEST(stats["tables"]["api"][0]["calls"] == 4);
}

BOOST_FIXTURE_TEST_CASE(launches_inside_and_outside_share_a_shape, Named) {
    const std::uint64_t line = stack(), kernel = function("kernel");
    const std::uint64_t memory = allocate(bytes, trace::Memory::device);
    for (int i = 0; i < 10; ++i) {
        if (i == 4)
            push("step");
        launch(kernel, {memory}, 0, line);
    }
    pop();
    launch(kernel, {memory}, 0, line);
    const std::string file = path();
    BOOST_TEST(json_of({"report", "--json", file})["launches"][0]["count"] == 11);
    const nlohmann::json document = json_of({"report", "--json", "--range", "step", file});
    BOOST_TEST_REQUIRE(document["launches"].size() == 1u);
    BOOST_TEST(document["launches"][0]["count"] == 6);
    BOOST_TEST(document["allocations"].empty()); // it was made outside
    const Result dumped = run({"dump", "--range", "step", file});
    std::size_t launches = 0;
    for (std::size_t at = 0; (at = dumped.out.find("us  Launch  ", at)) != std::string::npos; ++at)
        ++launches;
    BOOST_TEST(launches == 6u);
}

/// The memory is used outside: a look at the inside alone must not say that nothing uses it.
BOOST_FIXTURE_TEST_CASE(what_happens_outside_is_known_inside, Named) {
    const std::uint64_t kernel = function("kernel"), made = stack();
    push("step");
    const std::uint64_t memory = allocate(bytes, trace::Memory::device, made);
    copy(mib, ms, {.stack = stack(), .to = memory});
    pop();
    for (int i = 0; i < 20; ++i)
        launch(kernel, {memory});
    synchronize();
    free(memory);
    nothing_in(Looked(path(), {"step", ""}).found);
}

BOOST_FIXTURE_TEST_CASE(nested_ranges_count_once, Named) {
    push("step");
    push("step");
    copies(*this, stack());
    pop();
    pop();
    const Looked inside(path(), {"step", ""});
    BOOST_TEST(inside.profile.inside()->times == 1u);
    BOOST_TEST(totals_of(inside, "step").count == 1u);
    BOOST_TEST(inside.profile.net_ns() <= inside.profile.duration_ns());
}

BOOST_FIXTURE_TEST_CASE(a_range_is_of_its_thread, Named) {
    const std::uint64_t first = stack();
    push("step", 1);
    push("step", 2);
    synchronize({.stack = stack(), .duration = ms, .thread = 2});
    pop(2);
    synchronize({.stack = stack(), .duration = ms, .thread = 2}); // thread 1 is inside
    copies(*this, first);
    pop(1);
    const Looked inside(path(), {"step", ""});
    BOOST_TEST(inside.profile.inside()->times == 2u);
    std::uint64_t syncs = 0;
    for (const auto& [entry, totals] : inside.profile.calls())
        syncs += inside.profile.dictionary().symbol(entry).find("Synchronize") != std::string_view::npos
                     ? totals.count
                     : 0;
    BOOST_TEST(syncs == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_range_that_another_thread_ends, Named) {
    const std::uint64_t line = stack();
    range(RangeAction::start, "step", 1, "", 7);
    copies(*this, line);
    range(RangeAction::end, "", 2, "", 7);
    copies(*this, stack());
    const Looked inside(path(), {"step", ""});
    BOOST_TEST_REQUIRE(inside.found.size() == 1u);
    BOOST_TEST(inside.found.front().stack == line);
    BOOST_TEST(totals_of(inside, "step").count == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_worst_step_and_where_its_time_went, Named) {
    const std::uint64_t line = stack();
    for (int i = 0; i < 20; ++i) {
        push("train_step");
        now += 2 * ms;
        synchronize({.stack = line, .duration = ms});
        if (i == 7)
            copy(bytes, 40 * ms, {.stack = stack(), .host_range = 1});
        pop();
    }
    const std::string file = path();
    const Looked all(file);
    const tables::RangeTotals& steps = totals_of(all, "train_step");
    BOOST_TEST(steps.count == 20u);
    BOOST_TEST(steps.worst_index == 7u);
    BOOST_TEST(steps.median().all_ns == 3.0 * ms, boost::test_tools::tolerance(0.02));
    BOOST_TEST(steps.worst.all_ns == 43.0 * ms, boost::test_tools::tolerance(0.02));
    BOOST_TEST(steps.worst.copy_ns == 40.0 * ms, boost::test_tools::tolerance(0.05));
    BOOST_TEST(steps.worst.own_ns() == 2.0 * ms, boost::test_tools::tolerance(0.05));
    const nlohmann::json range = json_of({"report", "--json", file})["ranges"][0];
    BOOST_TEST(range["name"] == "train_step");
    BOOST_TEST(range["worst_index"] == 7);
    BOOST_TEST(range["worst_call"]["call"] == "cudaMemcpy");
    const std::string text = run({"report", file}).out;
    BOOST_TEST(contains(text, "steps: \"train_step\" x 20, median 3 ms, worst 43 ms"));
    BOOST_TEST(contains(text, "(step 7: 40 ms more in copies"));
}

BOOST_AUTO_TEST_CASE(no_steps_in_the_head) {
    Named rare, brief, library;
    for (int i = 0; i < 2; ++i) { // too few
        rare.push("step");
        copies(rare, 0, 1);
        rare.pop();
    }
    for (int i = 0; i < 5; ++i) { // next to none of the time
        brief.push("step");
        brief.pop();
        copies(brief, 0, 1);
    }
    for (int i = 0; i < 5; ++i) {
        library.range(RangeAction::push, "ncclAllReduce", 1, "NCCL");
        copies(library, 0, 1);
        library.range(RangeAction::pop, "", 1, "NCCL");
    }
    for (Named* const program : {&rare, &brief, &library})
        BOOST_TEST(run({"report", program->path()}).out.find("steps:") == std::string::npos);
    const std::string path = library.path();
    BOOST_TEST(run({"report", "--range", "nccl*", path}).status == 1);
    const Result asked = run({"report", "--range", "nccl*", "--domain", "NCCL", path});
    BOOST_TEST(contains(asked.out, "steps: \"ncclAllReduce\" x 5"));
}

BOOST_FIXTURE_TEST_CASE(the_outermost_that_recurs, Named) {
    push("main");
    for (int i = 0; i < 5; ++i) {
        push("step");
        push("forward");
        copies(*this, 0, 1);
        pop();
        pop();
    }
    pop();
    const std::string text = run({"report", path()}).out;
    BOOST_TEST(contains(text, "steps: \"step\" x 5"));
}

BOOST_FIXTURE_TEST_CASE(an_unknown_name, Named) {
    push("train_step");
    copies(*this, 0);
    pop();
    const std::string file = path();
    for (const char* command : {"report", "stats", "flame", "tree", "dump"}) {
        check_one_line(run({command, "--range", "step", file}), 1,
                       "no range is called step; there are: train_step");
        check_one_line(run({command, "--domain", "x", file}), 2, "--domain needs --range");
    }
    Named none;
    copies(none, 0);
    check_one_line(run({"report", "--range", "step", none.path()}), 1, "has no ranges");
}

BOOST_FIXTURE_TEST_CASE(unbalanced_ends, Named) {
    pop(); // pushed before the recording
    range(RangeAction::end, "", 1, "", 99);
    push("step");
    copies(*this, stack(), 1);
    range(RangeAction::pop, "", 1, "other"); // of another stack
    copies(*this, stack(), 1);               // still inside, and to the end
    const Looked inside(path(), {"step", ""});
    BOOST_TEST(inside.profile.calls().begin()->second.count == 2u);
    BOOST_TEST(inside.profile.inside()->ticks > 0u);
    BOOST_TEST(totals_of(inside, "step").count == 0u);
    BOOST_TEST(totals_of(inside, "step").begun == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_pause_ends_what_is_open, Named) {
    push("step");
    trace::Pause pause{.start = now};
    builder.add(pause);
    pause.recording = 1;
    now += ms;
    pause.start = now;
    builder.add(pause);
    copies(*this, stack());
    const Looked inside(path(), {"step", ""});
    nothing_in(inside.found);
    BOOST_TEST(totals_of(inside, "step").count == 0u);
}

BOOST_FIXTURE_TEST_CASE(hostile_names, Named) {
    const std::string name = "a\033[2Jb\nc\xff" + std::string(3000, 'x');
    for (int i = 0; i < 4; ++i) {
        push(name);
        copies(*this, 0, 1);
        pop();
    }
    const std::string file = path();
    const std::string text = run({"report", file}).out;
    BOOST_TEST(contains(text, "steps: \"a"));
    BOOST_TEST(text.find('\033') == std::string::npos);
    for (std::size_t at = 0, next; at < text.size(); at = next + 1) {
        next = std::min(text.find('\n', at), text.size());
        BOOST_TEST(next - at < 1500u);
    }
    json_of({"report", "--json", file});
    check_one_line(run({"report", "--range", "no\nsuch", file}), 1, "no range is called");
}

BOOST_AUTO_TEST_CASE(many_ranges_in_bounded_memory) {
    tables::NamedRanges ranges(1);
    trace::Range push, pop;
    push.action = RangeAction::push;
    pop.action = RangeAction::pop;
    facts::Call call;
    call.duration = 10;
    for (std::uint64_t i = 0; i < 200'000; ++i) {
        push.text = 1 + i % 10'000;
        ranges.add(push, 0, 1000 * i);
        call.range = ranges.enter(0);
        ranges.settle(call, 5);
        BOOST_REQUIRE(call.range < 4u); // numbers are given out again
        ranges.add(pop, 0, 1000 * i + 500);
    }
    BOOST_TEST(ranges.names().size() == tables::NamedRanges::most_names);
    BOOST_TEST(ranges.unnamed() != 0u);
    for (int i = 0; i < 200'000; ++i) // never popped
        ranges.add(push, 1, 1);
    for (int i = 0; i < 300'000; ++i)
        ranges.add(pop, 1, 2);
    BOOST_TEST(ranges.enter(1) == 0u);
}

/// A range that has ended waits for its calls, which the clock settles later.
BOOST_AUTO_TEST_CASE(calls_that_are_settled_after_the_end) {
    tables::NamedRanges ranges(1);
    trace::Range record{.text = 1};
    ranges.add(record, 0, 0);
    record.text = 2;
    ranges.add(record, 0, 10);
    facts::Call call;
    call.duration = 60;
    call.range = ranges.enter(0);
    record.action = RangeAction::pop;
    ranges.add(record, 0, 90);
    ranges.add(record, 0, 100);
    for (const auto& [key, totals] : ranges.names())
        BOOST_TEST(totals.count == 0u);
    ranges.settle(call, 40);
    for (const auto& [key, totals] : ranges.names()) {
        BOOST_TEST(totals.count == 1u);
        BOOST_TEST(totals.worst.wait_ns == 40);
        BOOST_TEST(totals.worst.call_ns == 20);
        BOOST_TEST(totals.worst.all_ns == (key.second == 1 ? 100 : 80));
    }
}

BOOST_AUTO_TEST_SUITE_END()
