#include "interposer/act/cores.hpp"

#include "interposer/record/control_groups.hpp"
#include "interposer/runtime/own_thread.hpp"

#include <algorithm>
#include <cstdint>
#include <unistd.h>

namespace umadvisor::act {

unsigned usable_cores() noexcept {
    const unsigned remembered = runtime::remembered_cores();
    const auto bound = remembered != 0 ? remembered : static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
    return static_cast<unsigned>(std::min<std::uint64_t>(bound, record::cores_of_groups()));
}

} // namespace umadvisor::act
