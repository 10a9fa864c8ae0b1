#include "interposer/observe/host_nodes.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/record/confined.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::observe {

std::uint64_t node_of_thread() noexcept {
    unsigned cpu = 0, node = 0;
    return getcpu(&cpu, &node) == 0 ? std::uint64_t{node} + 1 : 0;
}

std::uint64_t node_of_page(std::uint64_t address) noexcept {
    if (record::is_confined())
        return 0;
    constexpr int this_process = 0;
    void* page = reinterpret_cast<void*>(address);
    int status = -1; // the node, or an error of this page
    const long answer = syscall(SYS_move_pages, this_process, 1ul, &page, nullptr, &status, 0);
    return answer == 0 && status >= 0 ? static_cast<std::uint64_t>(status) + 1 : 0;
}

std::uint64_t node_of_device(CUdevice device) noexcept {
    int node = -1;
    const CUresult status =
        attach::real<attach::Entry::cuDeviceGetAttribute>()(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device);
    return status == CUDA_SUCCESS && node >= 0 ? static_cast<std::uint64_t>(node) + 1 : 0;
}

} // namespace umadvisor::observe
