#include "interposer/record/thread_writer.hpp"
#include "record_image.hpp"
#include "tests/unit/in_threads.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <pthread.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(record_threads)

using namespace umadvisor;
using namespace umadvisor::record;

namespace {

trace::LaunchShape shape_of(std::uint64_t thread, std::uint64_t kind) {
    trace::LaunchShape shape{.entry = 7,
                             .function = kind + 1,
                             .stream = trace::StreamId{thread},
                             .grid_x = kind * 3 + 1,
                             .scanned = 1};
    for (std::uint64_t i = 0; i < kind % 5; ++i)
        shape.touched.add(trace::AllocationId{kind * 100 + i});
    return shape;
}

/// Launches of `kinds` shapes, the launch's `sample` counting them.
void write_launches(std::uint64_t thread, std::uint64_t count, std::uint64_t kinds,
                    std::atomic<std::uint64_t>* committed = nullptr) {
    for (std::uint64_t i = 0; i < count; ++i) {
        trace::LaunchShape shape = shape_of(thread, i % kinds);
        trace::Launch launch{.start = record::now(), .duration = i % 1000, .sample = i + 1};
        record::write(shape, launch);
        if (committed != nullptr)
            committed->store(i + 1, std::memory_order_release);
    }
}

/// The same with keys, and without a shape where one is recalled. How many were.
std::uint64_t write_remembered(std::uint64_t thread, std::uint64_t count, std::uint64_t kinds) {
    std::uint64_t recalled = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        LaunchKey key;
        key.add(i % kinds);
        trace::Launch launch{.start = record::now(), .duration = i % 1000, .sample = i + 1};
        ThreadWriter* const writer = thread_writer();
        if (const LaunchMemo::Entry* const known = writer->recall(key, 0)) {
            ++recalled;
            launch.shape = trace::BriefLaunch::shape(known->head);
            writer->chunk.put(launch);
            writer->chunk.commit();
        } else {
            trace::LaunchShape shape = shape_of(thread, i % kinds);
            record::write(shape, launch, key, 0, 1);
        }
    }
    return recalled;
}

/// Launches found for each thread, each one checked: in order, and of the right shape.
std::map<std::uint64_t, std::uint64_t> check_launches(const TraceImage& image, std::uint64_t kinds) {
    std::map<std::uint64_t, std::uint64_t> launches;
    std::map<std::uint64_t, trace::LaunchShape> shapes;
    const trace::ChunkHeader* current = nullptr;
    image.each_record([&]<class Record>(const trace::ChunkHeader& chunk, const Record& record) {
        if (current != &chunk) // numbers hold within a chunk
            shapes.clear();
        current = &chunk;
        if constexpr (std::is_same_v<Record, trace::LaunchShape>)
            shapes[record.shape] = record;
        if constexpr (std::is_same_v<Record, trace::Launch>) {
            const trace::LaunchShape& shape = shapes.at(record.shape);
            std::uint64_t& seen = launches[number(shape.stream)];
            BOOST_REQUIRE(record.sample == seen + 1);
            const trace::LaunchShape expected = shape_of(number(shape.stream), seen % kinds);
            BOOST_REQUIRE(shape.function == expected.function);
            BOOST_REQUIRE(shape.grid_x == expected.grid_x);
            BOOST_REQUIRE((shape.touched == expected.touched));
            BOOST_REQUIRE(record.duration == seen % 1000);
            ++seen;
        }
    });
    return launches;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_thread_finds_its_records_again) {
    constexpr std::uint64_t threads = 8, count = 30'000;
    const TraceImage image = recorded([&] {
        std::vector<std::thread> running;
        for (std::uint64_t t = 1; t <= threads; ++t)
            running.emplace_back([t] {
                pthread_setname_np(pthread_self(), ("worker " + std::to_string(t)).c_str());
                write_launches(t, count, 20);
            });
        for (int i = 0; i < 1000; ++i)
            record::renew_clock();
        for (std::thread& thread : running)
            thread.join();
        record::close();
        return said().empty();
    });
    const auto launches = check_launches(image, 20);
    BOOST_TEST(launches.size() == threads);
    for (const auto& [thread, seen] : launches)
        BOOST_TEST(seen == count);
    std::map<std::uint32_t, std::uint32_t> next;
    image.each_chunk([&](const trace::ChunkHeader& chunk) {
        if (chunk.kind == trace::ChunkKind::event)
            BOOST_TEST(chunk.sequence == next[chunk.thread]++);
        BOOST_TEST((chunk.state.load() == trace::ChunkState::sealed));
    });
    BOOST_TEST(next.size() == threads);
    std::size_t named = 0;
    for (const trace::Thread& thread : image.all<trace::Thread>())
        named +=
            thread.thread_name.starts_with("worker ") && next.contains(static_cast<std::uint32_t>(thread.id));
    BOOST_TEST(named == threads);
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(image.header().dropped[i].load() == 0u);
}

BOOST_AUTO_TEST_CASE(more_shapes_than_the_table_holds_are_defined_anew) {
    constexpr std::uint64_t kinds = 5000, count = 50'000;
    const TraceImage image = recorded([&] { write_launches(1, count, kinds); });
    BOOST_TEST(check_launches(image, kinds).at(1) == count);
}

BOOST_AUTO_TEST_CASE(a_recalled_launch_has_the_shape_of_its_key) {
    constexpr std::uint64_t count = 100'000; // several chunks, each of which knows no shape at first
    // 100 kinds nearly always find theirs; of 600 many have lost their place to another by then.
    for (const std::uint64_t kinds : {100u, 600u}) {
        const TraceImage image = recorded([&] {
            const std::uint64_t recalled = write_remembered(1, count, kinds);
            return recalled > 0 && recalled < count - kinds;
        });
        BOOST_TEST(check_launches(image, kinds).at(1) == count);
    }
}

BOOST_AUTO_TEST_CASE(an_ended_threads_launches_are_not_recalled_by_the_next) {
    const TraceImage image = recorded([&] {
        std::uint64_t first = 0, second = 0;
        std::thread([&] { first = write_remembered(1, 10, 2); }).join();
        std::thread([&] { second = write_remembered(2, 10, 2); }).join(); // in the same pages
        return first == 8 && second == 8;
    });
    const auto launches = check_launches(image, 2);
    BOOST_TEST(launches.at(1) == 10u);
    BOOST_TEST(launches.at(2) == 10u);
}

BOOST_AUTO_TEST_CASE(what_is_remembered_is_void_when_allocations_have_changed) {
    const TraceImage image = recorded([&] {
        write_remembered(1, 10, 2);
        LaunchKey key;
        key.add(1);
        ThreadWriter* const writer = thread_writer();
        const bool known = writer->recall(key, 0) != nullptr;
        const bool changed = writer->recall(key, 1) == nullptr;
        LaunchKey other;
        other.add(2);
        writer->remember(other, 1, 1, 1);
        return known && changed && writer->recall(key, 1) == nullptr && writer->recall(other, 1) != nullptr &&
               writer->recall(other, 0) == nullptr;
    });
    BOOST_TEST(image.all<trace::Launch>().size() == 10u);
}

BOOST_AUTO_TEST_CASE(sigkill_loses_nothing_that_was_committed) {
    constexpr std::uint64_t threads = 4;
    for (int round = 0; round < 10; ++round) {
        const ScratchDirectory scratch;
        const std::string path = scratch / "t.umtrace";
        const SharedPage page;
        auto* committed = reinterpret_cast<std::atomic<std::uint64_t>*>(page.words);
        const int status = run_in_child([&] {
            if (open_trace(path) != nullptr)
                return 1;
            for (std::uint64_t t = 0; t < threads; ++t)
                std::thread([&, t] { write_launches(t, ~std::uint64_t{0}, 20, &committed[t]); }).detach();
            while (committed[0] < 2'000u * static_cast<unsigned>(round + 1) || committed[threads - 1] == 0)
                sched_yield();
            kill(getpid(), SIGKILL);
            return 0;
        });
        BOOST_TEST_REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        const TraceImage image(path);
        const auto launches = check_launches(image, 20);
        for (std::uint64_t t = 0; t < threads; ++t)
            if (const std::uint64_t count = committed[t].load()) {
                // One more may be committed than the program had time to count.
                BOOST_TEST(launches.at(t) >= count);
                BOOST_TEST(launches.at(t) <= count + 1);
            }
        BOOST_TEST((image.header().state.load() == trace::FileState::recording));
    }
}

BOOST_AUTO_TEST_CASE(threads_by_the_thousand_cost_a_page_each) {
    constexpr std::uint64_t threads = 2000;
    const TraceImage image = recorded([&] {
        for (std::uint64_t t = 0; t < threads; t += 4)
            test::in_threads(4, [t](std::size_t i) { write_launches(t + i, 10, 3); });
        record::close();
    });
    const auto launches = check_launches(image, 3);
    BOOST_TEST(launches.size() == threads);
    for (const auto& [thread, seen] : launches)
        BOOST_TEST(seen == 10u);
    BOOST_TEST(image.bytes_on_disk() < threads * 8192 + 8'000'000);
}

namespace {

/// From here on fallocate(2) kills the process in a mode other than 0: giving blocks back takes milliseconds on
/// some file systems, and no thread may wait for that at its end.
bool forbid_holes() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const sock_fprog program{std::size(filter), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_thread_that_ends_gives_no_blocks_back) {
    constexpr std::uint64_t threads = 300;
    const TraceImage image = recorded({.before = forbid_holes}, [&] {
        for (std::uint64_t t = 0; t < threads; ++t)
            std::thread([t] { write_launches(t, 10, 3); }).join();
        record::close();
    });
    BOOST_TEST(check_launches(image, 3).size() == threads);
    BOOST_TEST(image.bytes_on_disk() < threads * 4096 + 600'000);
}

/// A thread's first chunk gets more room as it fills.
BOOST_AUTO_TEST_CASE(threads_of_any_length_find_their_records_again) {
    constexpr std::uint64_t lengths[] = {1, 150, 300, 1000, 3000, 5000, 10'000, 20'000};
    const TraceImage image = recorded([&] {
        for (std::uint64_t t = 0; t < std::size(lengths); ++t)
            std::thread([&, t] { write_launches(t, lengths[t], 3); }).join();
    });
    const auto launches = check_launches(image, 3);
    for (std::uint64_t t = 0; t < std::size(lengths); ++t)
        BOOST_TEST(launches.at(t) == lengths[t]);
}

/// Many threads live for a few calls.
BOOST_AUTO_TEST_CASE(a_thread_takes_no_more_of_its_first_chunk_than_it_fills) {
    recorded([&] {
        constexpr std::size_t page = 4096, pages = trace::chunk_bytes / page;
        bool good = false;
        std::thread([&good] {
            write_launches(1, 10, 3);
            const auto chunk = reinterpret_cast<std::uintptr_t>(thread_writer()->chunk.header);
            std::uint64_t entries[pages] = {}, present = 0;
            const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
            const ssize_t bytes = pread(map, entries, sizeof entries, static_cast<off_t>(chunk / page * 8));
            for (const std::uint64_t entry : entries)
                present += entry >> 63;
            good = chunk % page == 0 && bytes == sizeof entries && present == 1;
        }).join();
        record::close();
        return good;
    });
}

namespace {

pthread_key_t late_key;

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
/// Rounds of destructors (pthread_key_create(3)) that the program writes in. ThreadSanitizer's part of a thread
/// is gone in the fourth, in which the recorder gives back what it needed after the third.
constexpr std::uintptr_t late_rounds = __has_feature(thread_sanitizer) ? 1 : 2;

void write_late(void* left) {
    const auto times = reinterpret_cast<std::uintptr_t>(left);
    write_launches(times, 5, 1); // a library that frees its CUDA memory when a thread ends
    if (times > 1)
        pthread_setspecific(late_key, reinterpret_cast<void*>(times - 1));
}

} // namespace

BOOST_AUTO_TEST_CASE(what_a_dying_thread_still_does_is_recorded) {
    const TraceImage image = recorded([&] {
        pthread_key_create(&late_key, write_late); // after the recorder's: its destructor runs later
        for (int i = 0; i < 3; ++i)
            std::thread([] {
                write_launches(9, 5, 1);
                pthread_setspecific(late_key, reinterpret_cast<void*>(late_rounds));
            }).join();
    });
    std::map<std::uint64_t, int> seen;
    for (const trace::LaunchShape& shape : image.all<trace::LaunchShape>())
        ++seen[number(shape.stream)];
    for (std::uint64_t round = 1; round <= late_rounds; ++round)
        BOOST_TEST(seen[round] == 3);
    BOOST_TEST(seen[9] == 3);
    BOOST_TEST(image.all<trace::Launch>().size() == (late_rounds + 1) * 3 * 5);
    std::map<std::uint32_t, std::uint32_t> next;
    image.each_chunk([&](const trace::ChunkHeader& chunk) {
        if (chunk.kind == trace::ChunkKind::event)
            BOOST_TEST(chunk.sequence == next[chunk.thread]++);
    });
}

BOOST_AUTO_TEST_CASE(threads_agree_on_the_number_of_a_text) {
    constexpr int texts = 5000;
    const TraceImage image = recorded([&] {
        std::vector<std::uint64_t> ids[4];
        test::in_threads(4, [&ids](std::size_t thread) {
            for (int i = 0; i < texts; ++i)
                ids[thread].push_back(record::string_id("kernel " + std::to_string(i)));
        });
        return ids[0] == ids[1] && ids[1] == ids[2] && ids[2] == ids[3] && ids[0][0] != 0;
    });
    std::map<std::uint64_t, std::string> by_id;
    for (const trace::String& text : image.all<trace::String>())
        BOOST_TEST(by_id.emplace(text.id, text.text).second);
    BOOST_TEST(by_id.size() == static_cast<std::size_t>(texts));
}

BOOST_AUTO_TEST_SUITE_END()
