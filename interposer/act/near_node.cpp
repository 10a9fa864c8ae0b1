#include "interposer/act/near_node.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/base/small_file.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/record/off_stack.hpp"

#include <cstdio>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::act {

namespace {

constexpr unsigned long one_more = 1; ///< the kernel looks at one bit less than it is told of

/// A list such as "0", "0-1" or "0,8".
bool has_several_nodes() {
    char path[512];
    std::snprintf(path, sizeof path, "%s/sys/devices/system/node/online", node_calls.root);
    const record::OffStack<base::SmallFile<>> file;
    base::SmallFile<>& list = *file;
    return list.read(path) && list.view().find_first_of(",-") != std::string_view::npos;
}

} // namespace

constinit NodeCalls node_calls{
    "",
    [](int* mode, unsigned long* nodes, unsigned long bits) {
        constexpr void* of_the_thread = nullptr;
        return syscall(SYS_get_mempolicy, mode, nodes, bits, of_the_thread, 0ul);
    },
    [](int mode, const unsigned long* nodes, unsigned long bits) {
        return syscall(SYS_set_mempolicy, mode, nodes, bits);
    },
};

std::uint64_t nearest_node() noexcept {
    CUdevice device = 0;
    return has_several_nodes() && attach::real<attach::Entry::cuCtxGetDevice>()(&device) == CUDA_SUCCESS
               ? observe::node_of_device(device)
               : 0;
}

NearNode::NearNode(std::uint64_t node) noexcept {
    if (node == 0 || node > most_nodes ||
        node_calls.get_policy(&former_mode_, former_nodes_, most_nodes + one_more) != 0)
        return;
    Nodes nodes{};
    nodes[(node - 1) / word_bits] = 1ul << (node - 1) % word_bits;
    changed_ = node_calls.set_policy(MPOL_PREFERRED, nodes, most_nodes + one_more) == 0;
}

NearNode::~NearNode() {
    if (changed_)
        node_calls.set_policy(former_mode_, former_nodes_, most_nodes + one_more);
}

} // namespace umadvisor::act
