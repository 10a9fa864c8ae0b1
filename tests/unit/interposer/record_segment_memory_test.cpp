/// Where a program has little memory, or locks what it has: what the segment of a trace takes of it.
#include "interposer/record/recorder.hpp"
#include "record_image.hpp"
#include "record_syncs.hpp"
#include "trace/attached_segment.hpp"
#include "trace/segment.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(record_segment_memory)

using namespace umadvisor;
using namespace umadvisor::record;

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
    const TraceImage image = recorded({.before = forbid_shared_memory}, [] {
        write_syncs(10'000);
        record::close();
        return said().empty();
    });
    BOOST_TEST(image.all<trace::Sync>().size() == 10'000u);
    BOOST_TEST(image.all<trace::Notice>().at(0).text.starts_with("no shared memory"));
    BOOST_TEST(image.is_closed());
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
                if ((!shared && !forbid_shared_memory()) || open_trace(path, {.stack_frames = 16}) != nullptr)
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
        if (open_trace(scratch / "t.umtrace") != nullptr)
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
            return open_trace(path) == nullptr ? 0 : 1;
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
                       if (open_trace(path) != nullptr)
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

BOOST_AUTO_TEST_SUITE_END()
