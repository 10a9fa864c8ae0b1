/// What happens to a trace from outside, and what is in memory beside it.
#include "analyzer/reader/trace_file.hpp"
#include "record_image.hpp"
#include "record_process.hpp"
#include "trace/attached_segment.hpp"
#include "trace/segment.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/ipc.h>
#include <sys/mman.h>
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

namespace {

void write_syncs(std::uint64_t count) {
    trace::Sync sync;
    for (std::uint64_t i = 0; i < count; ++i) {
        sync.start = record::now();
        sync.object = i + 1;
        record::write(sync);
        if (i % 64 == 0) {
            __atomic_fetch_add(&umadvisor_counters[3], 1, __ATOMIC_RELAXED); // as the exports do
            record::renew_clock();
        }
        if (i % 1000 == 0)
            record::string_id("text " + std::to_string(i));
    }
}

/// The segments of this machine, by their numbers, with who made them (proc_sysvipc_shm(5)).
std::map<std::string, std::string> all_segments() {
    std::ifstream table("/proc/sysvipc/shm");
    std::map<std::string, std::string> creators;
    std::string line;
    while (std::getline(table, line)) {
        std::istringstream fields(line);
        std::string key, id, mode, bytes, creator;
        fields >> key >> id >> mode >> bytes >> creator;
        creators[id] = creator;
    }
    return creators;
}

/// Of processes that had the same numbers as ours will have.
const std::map<std::string, std::string> earlier = all_segments();

/// Segments that `process` has made and that are still there. A process that looks into one that ends (ps(1))
/// holds its memory a moment longer, so `expected` may come late.
int segments_of(pid_t process, int expected) {
    int count = -1;
    for (int tries = 0; tries < 2000 && count != expected; ++tries) {
        if (tries != 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        count = 0;
        for (const auto& [id, creator] : all_segments())
            count += creator == std::to_string(process) && !earlier.contains(id);
    }
    return count;
}

/// Starts a process that records until page.words[0] is set, then ends as it likes. page.words[1] counts.
template <class End>
pid_t record_in_child(const std::string& path, const SharedPage& page, End&& end) {
    const pid_t child = fork();
    if (child != 0)
        return child;
    if (record::open(settings_for(path)) != nullptr)
        _exit(1);
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(page.words);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([words] {
            while (words[0] == 0) {
                write_syncs(500);
                ++words[1];
            }
        });
    for (std::thread& thread : threads)
        thread.join();
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

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++count;
    return count;
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
                return record::lost() && count_of(std::string(said()), "\n") == 1 ? 0 : 2;
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
        _exit(record::open(settings_for(path)) == nullptr ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    BOOST_TEST(segments_of(child, 1) == 1);
    BOOST_TEST(succeeds_in_child([&] {
        Settings forced = settings_for(path);
        forced.force = true;
        const bool good = record::open(forced) == nullptr;
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
        if (record::open(settings_for(path)) != nullptr)
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

namespace {

/// From here on the process has no shared memory: as under a sandbox.
bool forbid_shared_memory() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_shared_memory_a_trace_is_written_all_the_same) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace";
    BOOST_TEST(succeeds_in_child([&] {
        if (!forbid_shared_memory() || record::open(settings_for(path)) != nullptr)
            return false;
        write_syncs(10'000);
        record::close();
        return said().empty();
    }));
    const TraceImage image(path);
    BOOST_TEST(image.all<trace::Sync>().size() == 10'000u);
    BOOST_TEST(image.all<trace::Notice>().at(0).text.starts_with("no shared memory"));
    BOOST_TEST((image.header().state.load() == trace::FileState::closed));
}

namespace {

/// What /proc/self/status says of this process, in KiB.
long status_kib(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field + ":"))
            return std::stol(line.substr(field.size() + 1));
    return -1;
}

/// The segment that a trace names.
trace::SegmentName segment_of(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const trace::SegmentName name = trace::segment_name_in(file);
    ::close(file);
    return name;
}

/// From here on what the process maps, or has, is locked into memory; false: there is a limit on that.
bool lock_all(int flags) {
    if (mlockall(flags) != 0)
        return false;
    void* const much = mmap(nullptr, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return much != MAP_FAILED && munmap(much, 64 << 20) == 0;
}

constexpr int not_tried = 77;

bool was_tried(int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_tried)
        BOOST_TEST_MESSAGE("not tried: needs root");
    else
        BOOST_TEST(status == 0);
    return status == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_program_that_locks_its_memory_does_not_lock_ours) {
    const ScratchDirectory scratch;
    const auto lock_and_record = [&](const char* name, int flags, bool shared) {
        const std::string path = scratch / name;
        if (!was_tried(run_in_child([&] {
                if (!lock_all(flags))
                    return not_tried;
                const long locked = status_kib("VmLck"), resident = status_kib("VmRSS");
                Settings settings = settings_for(path);
                settings.stack_frames = 16;
                if ((!shared && !forbid_shared_memory()) || record::open(settings) != nullptr)
                    return 1;
                write_syncs(1000);
                const long more = status_kib("VmLck") - locked;
                if (more > 3 << 10)
                    std::fprintf(stderr, "%ld KiB more are locked\n", more);
                const long touched = status_kib("VmRSS") - resident;
                if (touched > 10 << 10)
                    std::fprintf(stderr, "%ld KiB more are resident\n", touched);
                record::close();
                return more > 3 << 10 || touched > 10 << 10 ? 2 : 0;
            })))
            return;
        const TraceImage image(path);
        BOOST_TEST(image.all<trace::Sync>().size() == 1000u);
    };
    lock_and_record("future", MCL_FUTURE, true);
    lock_and_record("on-fault", MCL_FUTURE | MCL_ONFAULT, true);
    lock_and_record("no-shared-memory", MCL_FUTURE, false);
}

BOOST_AUTO_TEST_CASE(a_program_that_locks_its_memory_later_does_not_fill_ours) {
    const ScratchDirectory scratch;
    was_tried(run_in_child([&] {
        if (record::open(settings_for(scratch / "t.umtrace")) != nullptr)
            return 1;
        if (!lock_all(MCL_CURRENT))
            return not_tried;
        // And more than lies open at first.
        std::vector<std::thread> threads;
        for (int i = 0; i < 200; ++i)
            threads.emplace_back([] {
                write_syncs(10);
                std::this_thread::sleep_for(std::chrono::seconds(1));
            });
        const long shared = status_kib("RssShmem");
        for (std::thread& thread : threads)
            thread.join();
        record::close();
        if (shared > 20 << 10)
            std::fprintf(stderr, "%ld KiB of shared memory are resident\n", shared);
        return shared > 20 << 10 ? 2 : 0;
    }));
}

BOOST_AUTO_TEST_CASE(little_memory_is_promised_to_us_where_promises_are_kept) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "t.umtrace", setting = scratch / "overcommit";
    std::ofstream(setting) << "2\n";
    if (was_tried(run_in_child([&] {
            if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                mount(setting.c_str(), "/proc/sys/vm/overcommit_memory", nullptr, MS_BIND, nullptr) != 0)
                return not_tried;
            return record::open(settings_for(path)) == nullptr ? 0 : 1;
        })))
        BOOST_TEST(segment_of(path).bytes == trace::segment_bytes(64));
    TraceImage(path).all<trace::Sync>(); // settles it
}

// The thread sanitizer needs memory of its own, which such a child does not get.
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if !__has_feature(thread_sanitizer)
BOOST_AUTO_TEST_CASE(a_forked_child_without_memory_does_not_hold_its_parents) {
    const auto attached = [](int id) {
        shmid_ds state{};
        return shmctl(id, IPC_STAT, &state) == 0 ? static_cast<int>(state.shm_nattch) : -1;
    };
    for (const auto limit : {RLIMIT_AS, RLIMIT_DATA}) {
        const ScratchDirectory scratch;
        const std::string path = scratch / "t.umtrace";
        BOOST_TEST(succeeds_in_child([&] {
                       if (record::open(settings_for(path)) != nullptr)
                           return false;
                       write_syncs(10);
                       const trace::SegmentName name = segment_of(path);
                       const int alone = attached(name.id);
                       const SharedPage page;
                       auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(page.words);
                       const pid_t child = fork();
                       if (child == 0) {
                           const rlimit none{4096, 4096};
                           setrlimit(limit, &none);
                           record::abandon();
                           words[0] = 1;
                           while (words[1] == 0)
                               ::sched_yield();
                           _exit(0);
                       }
                       while (words[0] == 0)
                           ::sched_yield();
                       const int holders = attached(name.id);
                       words[1] = 1;
                       int status = -1;
                       waitpid(child, &status, 0);
                       record::close();
                       return holders == alone && status == 0;
                   }),
                   "limit " << limit);
    }
}
#endif

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
        if (record::open(settings_for(path)) != nullptr)
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
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        record::renew_clock();
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
