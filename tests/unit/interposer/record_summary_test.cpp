/// What a full trace still counts.
#include "record_image.hpp"
#include "tests/unit/in_threads.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(record_summary)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

constexpr std::uint64_t copy_entry = 7, launch_entry = 9;

void write_copies(std::uint64_t count, std::uint64_t stack) {
    trace::Copy copy{.bytes = 100};
    copy.entry = copy_entry;
    copy.stack = stack;
    copy.duration = 3;
    for (std::uint64_t i = 0; i < count; ++i) {
        copy.start = record::now();
        copy.status = i % 10 == 0 ? 1 : 0;
        record::write(copy);
    }
}

void write_launches(std::uint64_t count, std::uint64_t function) {
    for (std::uint64_t i = 0; i < count; ++i) {
        trace::LaunchShape shape{.entry = launch_entry, .function = function};
        trace::Launch launch{.start = record::now(), .duration = 5};
        record::write(shape, launch);
    }
}

struct Kept {
    std::uint64_t copies = 0, failed = 0, launches = 0;
    explicit Kept(const TraceImage& image) {
        for (const trace::Copy& copy : image.all<trace::Copy>()) {
            ++copies;
            failed += copy.status != 0;
        }
        launches = image.all<trace::Launch>().size();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(what_the_cap_drops_is_counted_by_site) {
    constexpr std::uint64_t copies = 100'000, launches = 50'000;
    const TraceImage image = recorded({.max_bytes = 600'000}, [&] {
        test::in_threads(4, [](std::size_t i) {
            write_copies(copies / 4, i / 2 + 1);
            write_launches(launches / 4, 42);
        });
        trace::Prefetch own; // an action of ours is no call of the program
        own.origin = trace::Origin::umadvisor;
        record::write(own);
    });
    const Kept kept(image);
    const auto sites = image.summary();
    BOOST_TEST_REQUIRE(sites.size() == 3u);
    const auto& first = sites.at(trace::site_key(copy_entry, 0, 1));
    const auto& second = sites.at(trace::site_key(copy_entry, 0, 2));
    const auto& launched = sites.at(trace::site_key(launch_entry, 42, 0));
    BOOST_TEST(kept.copies > 0u);
    BOOST_TEST(kept.copies + first.calls + second.calls == copies);
    BOOST_TEST(kept.failed + first.failed + second.failed == copies / 10);
    BOOST_TEST(first.bytes == first.calls * 100);
    BOOST_TEST(second.ticks == second.calls * 3);
    BOOST_TEST(kept.launches + launched.calls == launches);
    BOOST_TEST(launched.ticks == launched.calls * 5);
    BOOST_TEST(first.calls + second.calls + launched.calls + 1 == image.dropped(trace::DropReason::size_cap));
}

BOOST_AUTO_TEST_CASE(sites_beyond_the_slots_share_one) {
    constexpr std::uint64_t sites = 5'000;
    const TraceImage image = recorded({.max_bytes = 1}, [&] {
        for (int round = 0; round < 2; ++round)
            for (std::uint64_t stack = 1; stack <= sites; ++stack)
                write_copies(1, stack);
    });
    const auto found = image.summary();
    BOOST_TEST(found.size() > trace::summary_slots / 2);
    BOOST_TEST(found.count(trace::any_site) == 1u);
    std::uint64_t calls = 0;
    for (const auto& [site, counts] : found)
        calls += counts.calls;
    BOOST_TEST(calls == image.dropped(trace::DropReason::size_cap));
    BOOST_TEST(calls + image.all<trace::Copy>().size() == 2 * sites);
}

BOOST_AUTO_TEST_CASE(a_full_disk_has_its_counts_and_a_kill_leaves_them) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    constexpr std::uint64_t count = 200'000;
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{1'500'000, 1'500'000};
        if (setrlimit(RLIMIT_FSIZE, &limit) == 0 && open_trace(path) == nullptr)
            write_copies(count, 1);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const TraceImage image(path);
    const auto sites = image.summary();
    BOOST_TEST_REQUIRE(sites.size() == 1u);
    BOOST_TEST(sites.begin()->second.calls == image.dropped(trace::DropReason::disk_full));
    BOOST_TEST(sites.begin()->second.calls + image.all<trace::Copy>().size() == count);
}

BOOST_AUTO_TEST_CASE(a_trace_that_drops_nothing_has_no_summary) {
    const TraceImage image = recorded([&] { write_copies(10, 1); });
    image.each_chunk(
        [](const trace::ChunkHeader& chunk) { BOOST_TEST((chunk.kind != trace::ChunkKind::summary)); });
}

/// Each thread leaves most of its chunk unused, and what it leaves is not held against the cap.
BOOST_AUTO_TEST_CASE(short_lived_threads_do_not_use_up_the_cap) {
    constexpr std::uint64_t threads = 400, cap = 4'000'000; // 61 chunks
    const TraceImage image = recorded({.max_bytes = cap}, [&] {
        for (std::uint64_t i = 0; i < threads; ++i)
            std::thread([i] { write_copies(10, i); }).join();
        return said().empty();
    });
    BOOST_TEST(image.all<trace::Copy>().size() == threads * 10);
    BOOST_TEST(image.dropped(trace::DropReason::size_cap) == 0u);
    BOOST_TEST(image.bytes_on_disk() <= cap);
}

BOOST_AUTO_TEST_SUITE_END()
