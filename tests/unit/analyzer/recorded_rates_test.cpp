/// The prices that a trace carries: found, added to a trace that was written, and no others used.
#include "analyzer/advice/findings.hpp"
#include "analyzer/machine/recorded_rates.hpp"

#include "analyzer/reader/added_chunk.hpp"
#include "analyzer/reader/error.hpp"
#include "command_run.hpp"
#include "found.hpp"
#include "trace/encoder.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>

BOOST_AUTO_TEST_SUITE(analyzer_recorded_rates, *umadvisor::test::on_rules("UMA-101 UMA-409"))

using namespace umadvisor;
using namespace umadvisor::test;
namespace fs = std::filesystem;

namespace {

const trace::Device card{.device_name = "Odd Card"};

std::string profile_of(const std::string& device, const std::string& rates) {
    return R"({"schema": "umadvisor-machine-1", "device": ")" + device + R"(", "rates": {)" + rates + "}}";
}

std::string touch(const std::string& value, const std::string& device = "Odd Card") {
    return profile_of(device, "\"host_first_touch_bytes_per_s\": " + value);
}

/// GB/s of the first touch, as a trace with these records has it; 0: it carries no prices.
double carried(const std::vector<std::string>& records) {
    Scenario s(0, card);
    for (const std::string& record : records)
        s.builder.add(trace::MachineRates{.rates = record});
    const reader::Trace trace(s.path());
    const machine::Rates rates = machine::recorded_rates(trace.dictionary);
    return rates.device.empty() ? 0 : rates.host_first_touch / 1e9;
}

std::vector<std::uint8_t> record_of(const std::string& text) {
    const trace::MachineRates record{.rates = text};
    std::vector<std::uint8_t> bytes(trace::encoded_bound(record));
    trace::DeltaState state;
    bytes.resize(static_cast<std::size_t>(trace::encode(bytes.data(), record, state) - bytes.data()));
    return bytes;
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// That they cannot be added, and that the trace is as it was.
void check_refused(const std::string& path, const std::string& why) {
    const std::string before = bytes_of(path);
    BOOST_CHECK_EXCEPTION(
        reader::add_definitions(path, record_of(touch("2e9"))), reader::Error,
        [&](const reader::Error& error) { return std::string(error.what()).find(why) != std::string::npos; });
    BOOST_TEST(bytes_of(path) == before);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_last_of_the_first_device_counts) {
    BOOST_TEST(carried({}) == 0);
    BOOST_TEST(carried({touch("2e9")}) == 2);
    BOOST_TEST(carried({touch("2e9"), touch("3e9")}) == 3);
    BOOST_TEST(carried({touch("2e9"), touch("3e9", "another")}) == 2);
    BOOST_TEST(carried({profile_of("Odd Card", "")}) == machine::Rates().host_first_touch / 1e9);
}

/// A trace may come from anyone.
BOOST_AUTO_TEST_CASE(what_is_no_price_of_a_machine_is_left_out) {
    for (const std::string text :
         {"", "x", "[]", "{}", "\"\\u0000", "[[[[[[[[", "{\"schema\": \"umadvisor-machine-1\"}"})
        BOOST_TEST(carried({text}) == 0, text);
    for (const std::string value : {"0", "-1", "1e400", "1e-300", "1e19", "9.9e6", "null", "\"2e9\"", "[2e9]"})
        BOOST_TEST(carried({touch(value)}) == 0, value);
    for (const std::string rate :
         {"\"small_copy_ns\": 1e11", "\"small_copy_ns\": 0", "\"both_ways_ratio\": 1e4"})
        BOOST_TEST(carried({profile_of("Odd Card", rate)}) == 0, rate);
    BOOST_TEST(carried({touch("2e9"), touch("-1")}) == 2);
}

BOOST_AUTO_TEST_CASE(added_to_a_trace_it_is_one_more_chunk) {
    Scenario s(0, card);
    s.copy_often(64 * mib, 20 * ms, {.stack = s.stack()});
    const std::string path = s.builder.written("added.umtrace");
    const std::string before = bytes_of(path);
    reader::add_definitions(path, record_of(touch("2e9")));
    const std::string after = bytes_of(path);
    BOOST_TEST(after.size() > before.size());
    std::size_t changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
        changed += before[i] != after[i];
    BOOST_TEST(changed == 1u); // the number of chunks
    reader::Trace trace(path);
    BOOST_TEST(trace.file.completeness().whole());
    const rules::Profile profile(trace);
    BOOST_TEST(trace.file.completeness().whole());
    BOOST_TEST(profile.rates().host_first_touch == 2e9);
}

BOOST_AUTO_TEST_CASE(where_it_cannot_be_added_the_trace_is_as_it_was) {
    Scenario s(0, card);
    s.copy_often(64 * mib, 20 * ms, {.stack = s.stack()});
    const std::string path = s.builder.written("kept.umtrace");
    BOOST_CHECK_THROW(reader::add_definitions(path + ".none", {}), reader::Error);
    // A full disk and a limit on the size of files look the same: write(2) fails.
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = fs::file_size(path);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    check_refused(path, "too large");
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    s.builder.closed = false;
    s.builder.pid = static_cast<std::uint32_t>(::getpid());
    check_refused(s.builder.written("runs.umtrace"), "still runs");
    s.builder.closed = true;
    const std::string cut = s.builder.written("cut.umtrace");
    fs::resize_file(cut, trace::header_bytes + 100);
    check_refused(cut, "was cut");
    fs::create_symlink(path, path + ".link");
    check_refused(path + ".link", "symbolic link");
    fs::remove(path + ".link");
}

namespace {

/// 64 MiB are page-locked in `lock_ns`, uploaded once and given back.
struct Locked : Scenario {
    explicit Locked(std::uint64_t lock_ns, const trace::Device& on = card) : Scenario(0, on) {
        const std::uint64_t kernel = function("use"), data = allocate(64 * mib, Memory::device, stack());
        const std::uint64_t buffer =
            allocate(64 * mib, Memory::pinned, {.stack = stack(), .duration = lock_ns});
        copy(64 * mib, 1200 * us, {.source = Memory::pinned, .stack = stack(), .from = buffer, .to = data});
        launch(kernel, {data});
        synchronize();
        free(buffer, 5 * ms);
        free(data);
    }
    Finding finding() {
        reader::Trace trace(path());
        const rules::Profile profile(trace);
        return among(advice::find_all(profile, own_line).all, "UMA-409");
    }
};

constexpr std::string_view doubt = "on this host the remedy may cost";

bool doubts(const Finding& finding) {
    return std::ranges::any_of(finding.details,
                               [](const std::string& text) { return text.starts_with(doubt); });
}

} // namespace

/// Of 40 ms that page-locking takes ordinary memory spares half at built-in prices, on a slower host nothing.
BOOST_AUTO_TEST_CASE(a_saving_at_another_hosts_prices_is_of_low_confidence) {
    Locked s(35 * ms);
    const Finding unknown = s.finding();
    BOOST_TEST((unknown.confidence == Confidence::low));
    BOOST_TEST(doubts(unknown));
    s.builder.add(trace::MachineRates{.rates = profile_of("Odd Card", "")});
    const Finding known = s.finding();
    BOOST_TEST((known.confidence == Confidence::medium));
    BOOST_TEST(!doubts(known));
    BOOST_TEST(known.saving_ns == unknown.saving_ns);
}

BOOST_AUTO_TEST_CASE(a_saving_on_any_host_stays) {
    const Finding finding = Locked(200 * ms).finding();
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(!doubts(finding));
}

BOOST_AUTO_TEST_CASE(built_in_prices_are_those_of_simcuda) {
    Locked s(35 * ms);
    s.builder.add(trace::Driver{.version = 13000, .simulated = 1});
    BOOST_TEST((s.finding().confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(buffers_that_are_locked_once_for_many_copies) {
    const auto copied = [](int times) {
        Scenario s(0, card);
        const std::uint64_t line = s.stack();
        for (int i = 0; i < times; ++i)
            s.copy(64 * mib, 5 * ms, {.stack = line});
        reader::Trace trace(s.path());
        const rules::Profile profile(trace);
        return among(advice::find_all(profile, own_line).all, "UMA-101");
    };
    BOOST_TEST(
        (copied(3).confidence == Confidence::low)); // 11 ms spared, 18 to lock the pages three times as slowly
    BOOST_TEST((copied(20).confidence == Confidence::high));
}

/// What a command says of a trace on a machine that has calibrated this.
std::string said(std::vector<std::string> command, const std::string& path, const std::string& calibrated) {
    const std::string folder = temporary_path("config");
    fs::create_directories(folder + "/umadvisor");
    std::ofstream(folder + "/umadvisor/machine.json") << calibrated;
    ::setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
    command.push_back(path);
    const Result result = run(command);
    BOOST_TEST(result.status == 0, result.err);
    ::unsetenv("XDG_CONFIG_HOME");
    return result.out + result.err;
}

BOOST_AUTO_TEST_CASE(the_machine_that_reads_has_no_say) {
    for (const std::string carries : {"", "4e9"}) {
        Locked s(35 * ms);
        if (!carries.empty())
            s.builder.add(trace::MachineRates{.rates = touch(carries)});
        const std::string path = s.builder.written("own.umtrace");
        for (std::vector<std::string> command : readers) {
            const std::string mine = said(command, path, touch("1e9"));
            BOOST_TEST(mine == said(command, path, touch("9e9")), command.front());
            BOOST_TEST(mine == said(command, path, "damaged"), command.front());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_named_file_goes_before_the_trace) {
    Locked s(35 * ms);
    s.builder.add(trace::MachineRates{.rates = touch("4e9")});
    const std::string path = s.builder.written("own.umtrace"), file = temporary_path("machine.json");
    std::ofstream(file) << touch("9e9");
    const auto rate = [&](std::vector<std::string> command) {
        command.push_back("--json");
        const std::string text = said(command, path, "damaged");
        constexpr std::string_view key = "\"host_first_touch_bytes_per_s\": ";
        const std::size_t at = text.find(key);
        return at == std::string::npos ? "" : text.substr(at + key.size(), 1);
    };
    BOOST_TEST(rate({"report"}) == "4");
    BOOST_TEST(rate({"report", "--machine", file}) == "9");
}

BOOST_AUTO_TEST_CASE(a_run_that_page_locks_often_has_the_price_of_its_own_host) {
    const machine::Rates built_in;
    const auto price = [](std::uint64_t calls, std::uint64_t bytes, trace::Origin origin) {
        Scenario s;
        for (std::uint64_t i = 0; i < calls; ++i)
            s.free(s.allocate(bytes, Memory::registered, {.duration = bytes / mib * ms, .origin = origin}));
        reader::Trace trace(s.path());
        return rules::Profile(trace).rates().page_lock;
    };
    // A millisecond a MiB, but for what each call takes.
    const double slow = 1.0 * mib / (1e-3 - built_in.page_lock_ns / 1e9 / 8);
    BOOST_TEST(price(8, 8 * mib, trace::Origin::program) == slow, nearly);
    BOOST_TEST(price(7, 16 * mib, trace::Origin::program) == built_in.page_lock);
    BOOST_TEST(price(8, 4 * mib, trace::Origin::program) == built_in.page_lock);
    BOOST_TEST(price(8, 8 * mib, trace::Origin::umadvisor) == built_in.page_lock);
}

BOOST_AUTO_TEST_SUITE_END()
