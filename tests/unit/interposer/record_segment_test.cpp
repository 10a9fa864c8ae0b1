/// What happens to a trace from outside, and what is in memory beside it.
#include "analyzer/reader/trace_file.hpp"
#include "record_image.hpp"
#include "record_syncs.hpp"
#include "tests/segments.hpp"
#include "tests/unit/in_threads.hpp"
#include "trace/attached_segment.hpp"
#include "trace/segment.hpp"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(record_segment)

using namespace umadvisor;
using namespace umadvisor::record;
using test::segments_of;

namespace {

/// Starts a process that records until page.words[0] is set, then ends as it likes. page.words[1] counts.
template <class End>
pid_t record_in_child(const std::string& path, const SharedPage& page, End&& end) {
    const pid_t child = fork();
    if (child != 0)
        return child;
    if (open_trace(path) != nullptr)
        _exit(1);
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(page.words);
    test::in_threads(3, [words](std::size_t) {
        while (words[0] == 0) {
            write_syncs(500);
            ++words[1];
        }
    });
    _exit(end());
}

void wait_for_rounds(const SharedPage& page, std::uint64_t rounds) {
    while (reinterpret_cast<std::atomic<std::uint64_t>&>(page.words[1]) < rounds)
        std::this_thread::yield();
}

int end_of(pid_t child, const SharedPage& page) {
    reinterpret_cast<std::atomic<std::uint64_t>&>(page.words[0]) = 1;
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_that_is_cut_or_removed_while_threads_record) {
    using Attack = void (*)(const std::string&);
    const Attack attacks[] = {
        [](const std::string& path) { std::filesystem::resize_file(path, 0); },
        [](const std::string& path) { std::filesystem::resize_file(path, 100); },
        [](const std::string& path) {
            std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
        },
        [](const std::string& path) { std::filesystem::remove(path); },
        [](const std::string& path) {
            std::ofstream(path + ".new") << "another file";
            std::filesystem::rename(path + ".new", path);
        },
        [](const std::string& path) { std::ofstream(path) << "written over"; },
        [](const std::string& path) {
            std::filesystem::remove(path);
            std::filesystem::create_directory(path);
        },
    };
    for (const Attack& attack : attacks)
        for (const std::uint64_t rounds : {1u, 40u}) {
            const ScratchDirectory scratch;
            const std::string path = scratch / "t.umtrace";
            const SharedPage page;
            const pid_t child = record_in_child(path, page, [] {
                record::close();
                return record::lost() && std::ranges::count(said(), '\n') == 1 ? 0 : 2;
            });
            wait_for_rounds(page, rounds);
            attack(path);
            wait_for_rounds(page, rounds + 200); // on and on, through many chunks
            BOOST_TEST(end_of(child, page) == 0, "attack " << (&attack - attacks) << " after " << rounds);
            BOOST_TEST(segments_of(child, 0) == 0);
        }
}

BOOST_AUTO_TEST_CASE(a_file_that_took_the_place_of_the_trace_is_left_alone) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    const SharedPage page;
    const pid_t child = record_in_child(path, page, [] {
        record::close();
        return 0;
    });
    wait_for_rounds(page, 5);
    std::ofstream(path + ".new") << "precious";
    std::filesystem::rename(path + ".new", path);
    wait_for_rounds(page, 200);
    BOOST_TEST(end_of(child, page) == 0);
    std::ifstream file(path);
    BOOST_TEST(std::string(std::istreambuf_iterator<char>(file), {}) == "precious");
}

BOOST_AUTO_TEST_CASE(no_segment_is_left_by_a_closed_trace_or_one_that_was_read) {
    for (const bool killed : {false, true}) {
        const ScratchDirectory scratch;
        const std::string path = scratch / "t.umtrace";
        const SharedPage page;
        const pid_t child = record_in_child(path, page, [killed] {
            if (killed)
                kill(getpid(), SIGKILL);
            record::close();
            return 0;
        });
        wait_for_rounds(page, 10);
        BOOST_TEST(segments_of(child, 1) == 1);
        end_of(child, page);
        BOOST_TEST(segments_of(child, killed ? 1 : 0) == (killed ? 1 : 0));
        const std::size_t records = TraceImage(path).all<trace::Sync>().size();
        BOOST_TEST(segments_of(child, 0) == 0);
        BOOST_TEST(records == page.words[1] * 500);
        BOOST_TEST(TraceImage(path).all<trace::Sync>().size() == records); // it is in the file now
        BOOST_TEST(TraceImage(path).counters()[3] != 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_trace_that_is_replaced_takes_its_segment_along) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    const pid_t child = fork();
    if (child == 0)
        _exit(open_trace(path) == nullptr ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    BOOST_TEST(segments_of(child, 1) == 1);
    BOOST_TEST(succeeds_in_child([&] {
        const bool good = open_trace(path, {.force = true}) == nullptr;
        record::close();
        return good;
    }));
    BOOST_TEST(segments_of(child, 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_forked_child_does_not_hold_the_memory) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    const SharedPage page;
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(page.words);
    const pid_t child = fork();
    if (child == 0) {
        if (open_trace(path) != nullptr)
            _exit(1);
        write_syncs(100);
        if (fork() == 0) { // goes on when its parent is gone, as a daemon does
            record::abandon();
            words[1] = 1;
            while (words[0] == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            _exit(0);
        }
        while (words[1] == 0)
            std::this_thread::yield();
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(segments_of(child, 1) == 1);
    BOOST_TEST(TraceImage(path).all<trace::Sync>().size() == 100u);
    BOOST_TEST(segments_of(child, 0) == 0);
    words[0] = 1;
}

BOOST_AUTO_TEST_CASE(a_running_programs_trace_can_be_read) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    const SharedPage page;
    const pid_t child = record_in_child(path, page, [] {
        record::close();
        return 0;
    });
    wait_for_rounds(page, 3);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bool chunks = false;
    const reader::Unwritten unwritten = reader::take_unwritten(file);
    for (const reader::Piece& piece : unwritten.pieces)
        chunks = chunks || piece.offset >= trace::header_bytes;
    ::close(file);
    BOOST_TEST(!unwritten.lost);
    BOOST_TEST(chunks);
    // As a part of the file like any other.
    const std::uint64_t rounds = reinterpret_cast<std::atomic<std::uint64_t>&>(page.words[1]);
    reader::TraceFile running(path);
    std::vector<std::uint8_t> records;
    std::uint64_t bytes = 0;
    for (const reader::ChunkInfo& each : running.chunks()) {
        BOOST_TEST(running.load(each, records));
        bytes += records.size();
    }
    BOOST_TEST(bytes > rounds * 500 * 3); // of a Sync's bytes at the least
    BOOST_TEST(running.completeness().whole());
    BOOST_TEST(!running.completeness().closed);
    BOOST_TEST(!running.completeness().end_lost);
    BOOST_TEST(segments_of(child, 1) == 1); // and is not settled under its hands
    BOOST_TEST(end_of(child, page) == 0);
    BOOST_TEST(TraceImage(path).all<trace::Sync>().size() == page.words[1] * 500);
}

BOOST_AUTO_TEST_CASE(what_synchronising_threads_committed_is_in_the_file_alone) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    BOOST_TEST(succeeds_in_child([&] {
        if (open_trace(path) != nullptr)
            return false;
        std::atomic<bool> done{false};
        std::thread other([&done] {
            write_syncs(1);
            for (std::uint64_t i = 1; i < 100; ++i) {
                trace::Sync sync;
                record::write(sync); // never synchronises
            }
            done = true;
            for (;;)
                ::pause();
        });
        other.detach();
        while (!done)
            std::this_thread::yield();
        // The longer the first write took, the later the next is due.
        for (int i = 0; i < 25; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
            record::renew_clock();
        }
        return true;
    }));
    // As when the segment went with its container.
    const int file = ::open(path.c_str(), O_RDWR);
    trace::SegmentName name{};
    BOOST_REQUIRE(pread(file, &name, sizeof name, trace::segment_name_offset) == sizeof name);
    BOOST_REQUIRE(name.bytes != 0u);
    BOOST_REQUIRE(shmctl(name.id, IPC_RMID, nullptr) == 0);
    BOOST_TEST(reader::take_unwritten(file).lost);
    name = {};
    BOOST_REQUIRE(pwrite(file, &name, sizeof name, trace::segment_name_offset) == sizeof name);
    ::close(file);
    BOOST_TEST(TraceImage(path).all<trace::Sync>().size() == 100u);
}

namespace {

/// A trace whose header names `id`, as anybody may write one.
void forge(const std::string& path, const trace::SegmentName& name) {
    std::vector<char> header(trace::header_bytes);
    std::memcpy(header.data(), trace::file_magic.data(), trace::file_magic.size());
    std::memcpy(header.data() + trace::segment_name_offset, &name, sizeof name);
    std::ofstream(path, std::ios::binary).write(header.data(), static_cast<std::streamsize>(header.size()));
}

reader::Unwritten look_at(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    reader::Unwritten unwritten = reader::take_unwritten(file);
    ::close(file);
    return unwritten;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_forged_trace_does_not_reach_another_programs_segment) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    const std::uint64_t bytes = trace::segment_bytes(64);
    const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    BOOST_REQUIRE(id >= 0);
    auto* const memory = static_cast<char*>(shmat(id, nullptr, 0));
    std::memset(memory, 'x', bytes);
    const auto is_left_alone = [&](const char* how) {
        shmid_ds before{}, after{};
        shmctl(id, IPC_STAT, &before);
        const std::string kept(memory, bytes);
        shmdt(memory); // its writer looks gone
        const reader::Unwritten unwritten = look_at(path);
        BOOST_TEST(unwritten.lost, how);
        BOOST_TEST(unwritten.pieces.empty(), how);
        BOOST_REQUIRE(shmctl(id, IPC_STAT, &after) == 0);
        BOOST_TEST(shmat(id, memory, 0) == memory);
        BOOST_TEST(std::string(memory, bytes) == kept, how);
    };
    trace::SegmentName name{.cookie = {7, 9}, .bytes = bytes, .id = id, .reserved = 0};
    forge(path, name);
    is_left_alone("no segment of a trace");
    auto& head = *reinterpret_cast<trace::Segment*>(memory);
    struct stat file {};
    BOOST_REQUIRE(stat(path.c_str(), &file) == 0);
    head.magic = trace::segment_magic;
    head.slots = 64;
    head.device = file.st_dev;
    head.inode = file.st_ino;
    head.cookie = {7, 8};
    is_left_alone("the segment of a trace with another cookie");
    head.cookie = name.cookie;
    head.inode = file.st_ino + 1;
    is_left_alone("the segment of another file with the same cookie");
    head.inode = file.st_ino;
    head.file_bytes = 0;
    name.bytes += trace::chunk_bytes;
    forge(path, name);
    is_left_alone("of another size");
    name.bytes = bytes;
    forge(path, name);
    shmid_ds state{};
    shmctl(id, IPC_STAT, &state);
    state.shm_perm.mode = 0644;
    shmctl(id, IPC_SET, &state);
    is_left_alone("open to others");
    // The same with nothing wrong is taken, or the above would show nothing.
    state.shm_perm.mode = 0600;
    shmctl(id, IPC_SET, &state);
    shmdt(memory);
    BOOST_TEST(!look_at(path).lost);
    BOOST_TEST(shmctl(id, IPC_STAT, &state) != 0);
}

BOOST_AUTO_TEST_SUITE_END()
