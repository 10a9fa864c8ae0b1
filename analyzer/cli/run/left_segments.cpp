#include "analyzer/cli/run/left_segments.hpp"

#include "trace/segment.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/shm.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::cli {
namespace {

bool is_of_a_trace(int id) {
    shmid_ds state{};
    if (::shmctl(id, IPC_STAT, &state) != 0 || state.shm_segsz < sizeof(trace::Segment))
        return false;
    void* const at = ::shmat(id, nullptr, SHM_RDONLY);
    if (at == reinterpret_cast<void*>(-1))
        return false;
    const bool ours = std::memcmp(at, trace::segment_magic.data(), trace::segment_magic.size()) == 0;
    ::shmdt(at);
    return ours;
}

bool is_dead(pid_t process) { // 0: it cannot be seen from here
    return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

} // namespace

std::vector<LeftSegment> left_segments() {
    std::vector<LeftSegment> left;
    std::ifstream table("/proc/sysvipc/shm"); // proc_sysvipc_shm(5)
    std::string line;
    for (std::getline(table, line); std::getline(table, line);) {
        std::istringstream fields(line);
        std::string key, mode;
        std::uint64_t size = 0, attached = 0, resident = 0, swapped = 0;
        std::int64_t attach = 0, detach = 0, made = 0; // when
        int id = 0;
        pid_t creator = 0, last = 0;
        uid_t user = 0, maker = 0;
        gid_t group = 0, makers_group = 0;
        fields >> key >> id >> mode >> size >> creator >> last >> attached >> user >> group >> maker >>
            makers_group >> attach >> detach >> made >> resident >> swapped;
        if (fields && mode == "600" && user == ::geteuid() && maker == user && attached == 0 &&
            is_dead(creator) && is_of_a_trace(id))
            left.push_back({id, resident + swapped, made});
    }
    // The kernel lists them by slots, which it uses again; ids grow with each round through them.
    std::sort(left.begin(), left.end(), [](const LeftSegment& a, const LeftSegment& b) {
        return std::pair(a.made, a.id) > std::pair(b.made, b.id);
    });
    return left;
}

} // namespace umadvisor::cli
