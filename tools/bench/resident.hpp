#pragma once
// What a process holds of memory that is its own.
#include <cstdlib>
#include <fstream>
#include <string>

namespace bench {

/// KiB of anonymous memory that are resident (proc(5), RssAnon); a mapped trace and managed memory are not in
/// it.
inline long anonymous_kib() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("RssAnon:", 0) == 0)
            return std::strtol(line.c_str() + 8, nullptr, 10);
    return 0;
}

} // namespace bench
