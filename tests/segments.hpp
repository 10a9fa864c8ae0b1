/// Shared-memory segments of this machine, by the process that made them (proc_sysvipc_shm(5)).
#pragma once

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <sys/types.h>
#include <thread>

namespace umadvisor::test {

/// The numbers of the segments in a table of that form, and who made each.
inline std::map<std::string, pid_t> read_segments(const std::string& table = "/proc/sysvipc/shm") {
    std::ifstream file(table);
    std::map<std::string, pid_t> makers;
    std::string line;
    for (std::getline(file, line); std::getline(file, line);) { // the first has headings
        std::istringstream fields(line);
        std::string key, id, mode, bytes;
        pid_t maker = 0;
        fields >> key >> id >> mode >> bytes >> maker;
        makers[id] = maker;
    }
    return makers;
}

/// Before the tests began: their makers may have had the same process numbers as ours.
inline const std::map<std::string, pid_t> segments_before = read_segments();

/// Segments that `process` made during these tests and that stand in `table`.
inline int count_segments(pid_t process, const std::map<std::string, pid_t>& table = read_segments()) {
    int count = 0;
    for (const auto& [id, maker] : table)
        count += maker == process && !segments_before.contains(id);
    return count;
}

/// The same. A process that inspects one that ends (ps(1)) holds its memory a moment longer, so `expected` may
/// come late.
inline int segments_of(pid_t process, int expected = 0) {
    int count = count_segments(process);
    for (int tries = 0; tries < 2000 && count != expected; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        count = count_segments(process);
    }
    return count;
}

} // namespace umadvisor::test
