/// `umadvisor whatif`: jobs read from traces, and what is said of them.
#include "analyzer/machine/rates.hpp"
#include "analyzer/whatif/job_reader.hpp"
#include "command_run.hpp"
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_whatif_trace)

using namespace umadvisor;
using namespace umadvisor::test;
using trace::Memory;

namespace {

/// Beside the one that each scenario has.
void add_device(Scenario& scenario, std::uint64_t memory, std::uint64_t ordinal = 1) {
    scenario.builder.add(trace::Device{.ordinal = ordinal, .memory_bytes = memory, .device_name = "Card"});
}

/// A program on a card of its own.
struct OnCard : Managed {
    explicit OnCard(std::uint64_t memory) { add_device(*this, memory); }
    std::uint64_t kernel = function("kernel");

    void launch(std::initializer_list<std::uint64_t> allocations) { Scenario::launch(kernel, allocations); }
};

nlohmann::json ask(Scenario& scenario, std::vector<std::string> options) {
    options.insert(options.begin(), {"whatif", "--json"});
    options.push_back(scenario.path());
    const Result result = run(options);
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    return nlohmann::json::parse(result.out);
}

std::uint64_t moved(const nlohmann::json& found, const std::string& policy) {
    const auto& told = found.at("policies").at(policy);
    return told.at("to_device_bytes").get<std::uint64_t>() + told.at("to_host_bytes").get<std::uint64_t>();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_job_of_device_memory_starts_or_does_not) {
    OnCard scenario(64 * mib);
    const auto a = scenario.allocate(16 * mib, Memory::device), b = scenario.allocate(24 * mib, Memory::device);
    for (int round = 0; round < 3; ++round)
        for (const std::uint64_t each : {a, b})
            scenario.launch({each});
    const auto fits = ask(scenario, {});
    BOOST_TEST(fits.at("starts") == true);
    BOOST_TEST(fits.at("fits") == true);
    BOOST_TEST(fits.at("live_bytes") == 40 * mib);
    BOOST_TEST(fits.at("memory_bytes") == 64 * mib);
    BOOST_TEST(moved(fits, "on_demand") == 0u);

    const auto not_so = ask(scenario, {"--gpu-memory", "32M"});
    BOOST_TEST(not_so.at("starts") == false);
    BOOST_TEST(not_so.at("policies").at("on_demand").is_null());

    // As if rewritten it pages: all of it was written on the card, and leaves it first.
    const auto paged = ask(scenario, {"--gpu-memory", "32MiB", "--act", "prefetch,rewrite=all"});
    BOOST_TEST(paged.at("starts") == true);
    BOOST_TEST(paged.at("fits") == false);
    BOOST_TEST(paged.at("device_bytes") == 0u);
    BOOST_TEST(paged.at("launch_bytes") == 24 * mib);
    // By hand, of 8 and 12 blocks in 16: each launch after the first two misses all that it reaches.
    BOOST_TEST(paged.at("policies").at("on_demand").at("to_device_bytes") == (8 + 12 + 8 + 12) * 2 * mib);
    BOOST_TEST(paged.at("policies").at("on_demand").at("to_host_bytes") == (8 + 12 + 40 - 16) * 2 * mib);
}

BOOST_AUTO_TEST_CASE(no_time_is_told_for_a_link_that_nobody_has_measured) {
    const auto job_on = [](std::uint64_t integrated, std::uint64_t addressing_told) {
        trace::Device device{
            .device_name = "NVIDIA GB10", .addressing_told = addressing_told, .integrated = integrated};
        auto scenario = std::make_unique<Scenario>(64 * mib, device);
        const auto data = scenario->allocate(8 * mib, Memory::managed);
        scenario->launch(scenario->function("kernel"), {data});
        return scenario;
    };
    const auto pool = job_on(1, 1), discrete = job_on(0, 1);
    const auto found = ask(*pool, {});
    BOOST_TEST(found.at("policies").at("on_demand").at("moving_ns").is_null());
    BOOST_TEST(found.at("policies").at("on_demand").at("job_ns").is_null());
    BOOST_TEST(found.at("policies").at("on_demand").at("to_device_bytes").is_number());
    BOOST_TEST(found.at("recorded").at("moving_ns").is_null());
    BOOST_TEST(found.at("basis").at("rates_of").is_null());
    BOOST_TEST(found.at("basis").at("to_device_bytes_per_s").is_null());
    const std::string text = run({"whatif", pool->path()}).out;
    BOOST_TEST(contains(text, "the link was not measured of NVIDIA GB10, one pool of memory"));
    BOOST_TEST(lacks(text, "H200"));
    BOOST_TEST(lacks(text, "GB/s"));

    BOOST_TEST(ask(*discrete, {}).at("policies").at("on_demand").at("moving_ns").is_number());
    // Measured, here or on a machine that the user names.
    machine::Rates rates;
    for (const char* const name : {"NVIDIA GB10", "NVIDIA H100"}) {
        rates.device = name;
        const std::string kept = machine::rates_text({rates});
        const std::string path = temporary_file("rates.json", {kept.begin(), kept.end()});
        BOOST_TEST(ask(*pool, {"--machine", path}).at("policies").at("on_demand").at("moving_ns").is_number());
    }
}

BOOST_AUTO_TEST_CASE(what_umadvisor_did_is_not_the_jobs) {
    OnCard scenario(64 * mib);
    const auto own = scenario.allocate(8 * mib, Memory::managed);
    const auto rewritten = scenario.allocate(8 * mib, Memory::managed, {.origin = trace::Origin::umadvisor});
    scenario.prefetch(own, 8 * mib, trace::Location::device, trace::Origin::umadvisor);
    scenario.launch({own, rewritten});
    const auto found = ask(scenario, {});
    BOOST_TEST(found.at("device_bytes") == 8 * mib);
    BOOST_TEST(found.at("launch_bytes") == 8 * mib);
    reader::Trace trace(scenario.path());
    const whatif::ReadJob recorded = whatif::read_job(trace, false);
    for (const whatif::Step& step : recorded.job.steps())
        BOOST_TEST((step.kind != whatif::StepKind::prefetch));
}

BOOST_AUTO_TEST_CASE(what_was_brought_to_the_host_is_taken_by_it) {
    OnCard scenario(64 * mib);
    const auto data = scenario.allocate(8 * mib, Memory::managed);
    for (const trace::Reason reason :
         {trace::Reason::makes_room, trace::Reason::host_returns, trace::Reason::none}) {
        scenario.launch({data});
        trace::Prefetch brought{.address = address_of(data) + 2 * mib,
                                .bytes = 4 * mib,
                                .allocation = trace::AllocationId{data},
                                .location = trace::Location::host,
                                .origin = trace::Origin::umadvisor,
                                .reason = reason};
        scenario.call(brought, "cuMemPrefetchAsync_v2");
    }
    scenario.launch({data});
    const auto on_demand = ask(scenario, {}).at("policies").at("on_demand");
    BOOST_TEST(on_demand.at("to_host_bytes") == 4 * mib);
    BOOST_TEST(on_demand.at("to_device_bytes") == 4 * mib);
}

BOOST_FIXTURE_TEST_CASE(devices_without_a_context_are_another_jobs, Scenario) {
    add_device(*this, 64 * mib, 1);
    add_device(*this, 64 * mib, 2);
    launch(function("kernel"), {allocate(100 * mib, Memory::device)});
    const auto unknown = ask(*this, {}); // which are used
    BOOST_TEST(unknown.at("memory_bytes") == 128 * mib);
    trace::Context context{.action = trace::ContextAction::retain_primary, .context = 0x1000, .device = 2};
    context.start = now;
    builder.add(context);
    const auto one = ask(*this, {});
    BOOST_TEST(one.at("memory_bytes") == 64 * mib);
    BOOST_TEST(one.at("recorded").at("devices") == 1u);
    BOOST_TEST(one.at("fits") == false);
    context.device = 1;
    builder.add(context);
    const auto both = ask(*this, {});
    BOOST_TEST(both.at("memory_bytes") == 128 * mib);
    BOOST_TEST(both.at("recorded").at("devices") == 2u);
    BOOST_TEST(both.at("fits") == true);
}

BOOST_AUTO_TEST_CASE(host_faults_and_copies_are_steps) {
    OnCard scenario(64 * mib);
    const auto data = scenario.allocate(8 * mib, Memory::managed);
    const auto fault = [&](std::uint64_t bytes) {
        trace::ManagedEvent event{
            .kind = trace::ManagedEventKind::host_fault, .address = address_of(data), .bytes = bytes};
        scenario.event(event);
        scenario.now += 1000;
    };
    fault(8 * mib); // written by the host
    scenario.launch({data});
    fault(4 * mib);
    scenario.launch({data});
    const auto found = ask(scenario, {});
    BOOST_TEST(found.at("policies").at("on_demand").at("to_device_bytes") == 12 * mib);
    BOOST_TEST(found.at("policies").at("on_demand").at("to_host_bytes") == 4 * mib);
    BOOST_TEST(found.at("basis").at("parts_told") == false);
}

BOOST_AUTO_TEST_CASE(blocks_that_faulted_are_what_launches_reach) {
    for (const std::uint64_t lost : {0, 1}) {
        OnCard scenario(64 * mib);
        const auto data = scenario.allocate(16 * mib, Memory::managed);
        scenario.tell(all_kinds, lost);
        scenario.fault(trace::ManagedEventKind::device_fault, address_of(data) + 6 * mib);
        scenario.launch({data});
        const auto found = ask(scenario, {});
        BOOST_TEST(found.at("basis").at("parts_told") == (lost == 0));
        BOOST_TEST(found.at("launch_bytes") == (lost == 0 ? 2 : 16) * mib);
    }
}

BOOST_AUTO_TEST_CASE(a_faster_link_takes_less_time) {
    OnCard scenario(8 * mib);
    const auto a = scenario.allocate(16 * mib, Memory::managed);
    for (int round = 0; round < 4; ++round)
        scenario.launch({a});
    const auto slow = ask(scenario, {"--link", "10"}), fast = ask(scenario, {"--link", "20"});
    BOOST_TEST(moved(slow, "on_demand") == moved(fast, "on_demand"));
    const auto time = [](const nlohmann::json& found) {
        return found.at("policies").at("optimum").at("moving_ns").get<double>();
    };
    BOOST_TEST(time(slow) == 2 * time(fast), boost::test_tools::tolerance(0.01));
    BOOST_TEST(time(slow) == static_cast<double>(moved(slow, "optimum")) / 10,
               boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(the_text_says_what_it_stands_on) {
    OnCard scenario(8 * mib);
    const auto a = scenario.allocate(16 * mib, Memory::managed);
    scenario.launch({a});
    const Result result = run({"whatif", scenario.path()});
    BOOST_TEST(result.status == 0, result.err);
    for (const char* part :
         {"on a card of 8 MiB: it runs by paging: 16 MiB at once", "on demand", "--act prefetch",
          "at best (Belady)", "measured on an H200", "their whole allocations",
          "2 devices are treated as one card", "the host's accesses were not recorded"})
        BOOST_TEST(result.out.find(part) != std::string::npos, result.out);
}

BOOST_FIXTURE_TEST_CASE(wrong_usage, Scenario) {
    allocate(mib, Memory::managed);
    const std::string file = path();
    check_one_line(run({"whatif"}), 2, "FILE");
    check_one_line(run({"whatif", "--gpu-memory", "much", file}), 2, "not much");
    check_one_line(run({"whatif", "--gpu-memory", "0", file}), 2, "not 0");
    check_one_line(run({"whatif", "--gpu-memory", "99999999999T", file}), 2, "not 99999999999T");
    check_one_line(run({"whatif", "--link", "-1", file}), 2, "not -1");
    check_one_line(run({"whatif", "--link", "nan", file}), 2, "not nan");
    check_one_line(run({"whatif", "--act", "stage", file}), 2, "not stage");
    check_one_line(run({"whatif", file}), 1, "give it with --gpu-memory SIZE"); // the trace names no device
    check_one_line(run({"whatif", "/nowhere/trace"}), 1, "No such file");
}

BOOST_AUTO_TEST_SUITE_END()
