#include "record_image.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(record_file)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

void write_syncs(int count, std::uint64_t object = 1) {
    trace::Sync sync{.object = object};
    for (int i = 0; i < count; ++i) {
        sync.start = record::now();
        sync.duration = static_cast<std::uint64_t>(i);
        record::write(sync);
    }
}

/// Whether open() refuses with a text that holds `why`, and nothing is recorded.
bool refused(const std::string& path, const char* why, const Varied& varied = {}) {
    return succeeds_in_child([&] {
        const char* text = open_trace(path, varied);
        write_syncs(3);
        return text != nullptr && std::strstr(text, why) != nullptr && !record::recording();
    });
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_is_private_and_says_who_wrote_it) {
    const auto before = [] {
        umask(0);
        return setenv("RANK", "7", 1) == 0;
    };
    const TraceImage image = recorded({.before = before}, [] {
        write_syncs(1);
        record::close();
    });
    BOOST_TEST((image.file().st_mode & 07777) == 0600u);
    BOOST_TEST(image.is_closed());
    const auto processes = image.all<trace::Process>();
    BOOST_TEST_REQUIRE(processes.size() == 1u);
    BOOST_TEST(processes[0].pid == image.header().pid);
    BOOST_TEST(processes[0].parent == static_cast<std::uint64_t>(getpid()));
    BOOST_TEST(processes[0].executable == std::filesystem::read_symlink("/proc/self/exe").string());
    BOOST_TEST(processes[0].command_line == content("/proc/self/cmdline"));
    BOOST_TEST(processes[0].directory == std::filesystem::current_path().string());
    BOOST_TEST(processes[0].rank == "7");
    BOOST_TEST(!processes[0].recorder.empty());
    const auto threads = image.all<trace::Thread>();
    BOOST_TEST_REQUIRE(threads.size() == 1u);
    BOOST_TEST(threads[0].id == image.header().pid);
    image.each_chunk(
        [](const trace::ChunkHeader& chunk) { BOOST_TEST((chunk.state.load() == trace::ChunkState::sealed)); });
}

BOOST_AUTO_TEST_CASE(what_exists_is_not_touched_without_force_and_what_is_no_trace_never) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    for (const char* const text : {"precious", "short"}) {
        std::ofstream(path, std::ios::trunc) << text;
        BOOST_TEST(refused(path, "exists"));
        BOOST_TEST(refused(path, "is no trace", {.force = true}));
        BOOST_TEST(content(path) == text);
    }
    std::ofstream(path, std::ios::trunc).close();
    for (const bool closes : {true, false})
        BOOST_TEST(succeeds_in_child([&] {
            const bool good = open_trace(path, {.force = true}) == nullptr;
            if (closes)
                record::close();
            return good;
        }));
    BOOST_TEST((TraceImage(path).header().state.load() == trace::FileState::recording));
}

BOOST_AUTO_TEST_CASE(links_and_directories_are_refused_even_by_force) {
    const ScratchDirectory scratch;
    const std::string target = scratch / "target", link = scratch / "link", directory = scratch / "directory",
                      dangling = scratch / "dangling";
    std::ofstream(target) << "precious";
    std::filesystem::create_symlink(target, link);
    std::filesystem::create_symlink(scratch / "nowhere", dangling);
    std::filesystem::create_directory(directory);
    for (const bool force : {false, true})
        for (const std::string& path : {link, dangling, directory})
            BOOST_TEST(refused(path, "", {.force = force}));
    BOOST_TEST(content(target) == "precious");
    BOOST_TEST(std::filesystem::is_symlink(link));
    BOOST_TEST(!std::filesystem::exists(scratch / "nowhere"));
    BOOST_TEST(refused(scratch / "no/such/directory", "No such file"));
}

BOOST_AUTO_TEST_CASE(a_program_may_close_every_descriptor) {
    const ScratchDirectory scratch;
    const std::string other = scratch / "other";
    constexpr int count = 400'000; // several growths of the file
    const TraceImage image = recorded([&] {
        ::syscall(SYS_close_range, 3, ~0u, 0); // a function only since glibc 2.34
        // The number may be another file's by now: it must not be written to.
        const int low = ::open(other.c_str(), O_RDWR | O_CREAT, 0600);
        for (int fd = 500; fd < 530; ++fd)
            dup2(low, fd);
        write_syncs(count);
        record::close();
        return said().empty();
    });
    BOOST_TEST(std::filesystem::file_size(other) == 0u);
    BOOST_TEST(image.all<trace::Sync>().size() == static_cast<std::size_t>(count));
}

BOOST_AUTO_TEST_CASE(records_after_close_stay_readable) {
    const TraceImage image = recorded([&] {
        write_syncs(10);
        record::close();
        write_syncs(10);
        record::note("late %d", 5);
        record::close();
        write_syncs(10);
    });
    BOOST_TEST(image.all<trace::Sync>().size() == 30u);
    BOOST_TEST(image.all<trace::Notice>().at(0).text == "late 5");
    BOOST_TEST(image.header().chunks.load() == 3u);
}

BOOST_AUTO_TEST_CASE(a_forked_child_leaves_the_parents_trace_alone) {
    const TraceImage image = recorded([&] {
        write_syncs(10, 1);
        umadvisor_counters[5] += 3;
        const bool child = succeeds_in_child([] {
            record::abandon();
            write_syncs(10, 2);
            umadvisor_counters[5] += 100;
            std::thread([] { write_syncs(10, 2); }).join();
            record::note("from the child");
            record::renew_clock();
            record::charge(std::uint64_t{1} << 60);
            record::close();
            return record::string_id("child") == 0 && record::stack() == 0;
        });
        write_syncs(10, 1);
        return child;
    });
    const auto syncs = image.all<trace::Sync>();
    BOOST_TEST(syncs.size() == 20u);
    for (const trace::Sync& sync : syncs)
        BOOST_TEST(sync.object == 1u);
    BOOST_TEST(image.counters()[5] == 3u);
    BOOST_TEST(image.header().own_ticks.load() < std::uint64_t{1} << 60);
    BOOST_TEST(image.all<trace::Notice>().empty());
    BOOST_TEST((image.header().state.load() == trace::FileState::recording));
}

BOOST_AUTO_TEST_CASE(counts_made_before_the_trace_was_there_are_kept) {
    const auto before = [] {
        umadvisor_counters[0] = 2;
        umadvisor_counters[trace::counter_slots - 1] = 9;
        return true;
    };
    const TraceImage image = recorded({.before = before}, [] { ++umadvisor_counters[0]; });
    BOOST_TEST(image.counters()[0] == 3u);
    BOOST_TEST(image.counters()[trace::counter_slots - 1] == 9u);
}

BOOST_AUTO_TEST_CASE(a_pause_takes_state_only) {
    const auto before = [] {
        record::pause(); // nothing to pause yet
        record::resume();
        return !record::takes(Taking::state);
    };
    const TraceImage image = recorded({.before = before}, [] {
        const bool all = record::takes(Taking::everything);
        record::pause();
        record::pause();
        const bool state_only = record::recording() && !record::takes(Taking::everything);
        record::write(trace::Alloc{
            .allocation = trace::AllocationId{7}}); // whoever follows the state writes in a pause too
        record::resume();
        const bool again = record::takes(Taking::everything);
        record::abandon();
        record::resume(); // what is given up stays given up
        return all && state_only && again && !record::recording();
    });
    const auto allocs = image.all<trace::Alloc>();
    BOOST_TEST_REQUIRE(allocs.size() == 1u);
    BOOST_TEST(number(allocs[0].allocation) == 7u);
}

BOOST_AUTO_TEST_CASE(the_simulated_clock_is_the_only_one_used) {
    const auto simulated = [] {
        static std::uint64_t time = 5000;
        return ++time;
    };
    const TraceImage image = recorded({.simulated_clock = simulated}, [] {
        write_syncs(100);
        record::close();
    });
    BOOST_TEST((image.header().clock == trace::ClockKind::simulated));
    BOOST_TEST(image.header().first.ticks == image.header().first.monotonic_ns);
    for (const trace::Sync& sync : image.all<trace::Sync>())
        BOOST_TEST((sync.start > 5000 && sync.start < 6000));
    for (const trace::Clock& clock : image.all<trace::Clock>())
        BOOST_TEST(clock.start == clock.monotonic_ns);
}

BOOST_AUTO_TEST_CASE(the_clock_pairs_tell_the_rate) {
    const SharedPage page;
    const TraceImage image = recorded([&] {
        const auto begin = std::chrono::steady_clock::now();
        trace::Sync sync;
        sync.start = record::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        sync.duration = record::now() - sync.start;
        page.words[0] = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin).count());
        record::write(sync);
        record::renew_clock();
    });
    const trace::FileHeader& header = image.header();
    const double rate = static_cast<double>(header.last_monotonic_ns.load() - header.first.monotonic_ns) /
                        static_cast<double>(header.last_ticks.load() - header.first.ticks);
    const double told = static_cast<double>(image.all<trace::Sync>().at(0).duration) * rate;
    BOOST_TEST(told == static_cast<double>(page.words[0]), boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(errno_is_the_programs_own) {
    const auto before = [] {
        errno = 4242;
        return true;
    };
    recorded({.before = before, .stack_frames = 16}, [] {
        bool good = errno == 4242;
        record::stack();
        record::string_id("text");
        record::note("note");
        good = good && errno == 4242;
        ::syscall(SYS_close_range, 3, ~0u, 0); // a function only since glibc 2.34
        write_syncs(100'000);
        good = good && errno == 4242;
        record::renew_clock();
        record::close();
        errno = 4243;
        good = good && open_trace("/no/such/place") != nullptr;
        return good && errno == 4243;
    });
}

BOOST_AUTO_TEST_SUITE_END()
