#include "interposer/record/file_limit.hpp"

#include <sys/resource.h>

namespace umadvisor::record {

bool is_within_limit(std::uint64_t end) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

} // namespace umadvisor::record
