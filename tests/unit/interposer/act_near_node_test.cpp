/// Where rings of pinned buffers lie on machines with several NUMA nodes.
#include "interposer/act/stage_ring.hpp"
#include "interposer/observe/contexts.hpp"
#include "observe_doubles.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <linux/mempolicy.h>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_near_node)

using namespace umadvisor;
using namespace umadvisor::act;
using observe::driver;
namespace fs = std::filesystem;

struct Policy {
    int mode = MPOL_DEFAULT;
    std::set<unsigned long> nodes;
    bool operator==(const Policy&) const = default;
};

/// The kernel's side of one thread, as far as policies go.
struct FakeKernelPolicy {
    Policy policy;
    std::vector<std::pair<Policy, std::uint64_t>> set; ///< asked for, and how often memory had been by then
    int asked = 0;
    bool get_refused = false, set_refused = false;
};

namespace {

FakeKernelPolicy kernel;

long fake_get(int* mode, unsigned long* nodes, unsigned long bits) {
    ++kernel.asked;
    if (kernel.get_refused)
        return -1;
    BOOST_TEST(bits > 1024u); // of kernels for 1024 nodes, which refuse less
    *mode = kernel.policy.mode;
    for (const unsigned long node : kernel.policy.nodes)
        nodes[node / 64] |= 1ul << node % 64;
    return 0;
}

long fake_set(int mode, const unsigned long* nodes, unsigned long bits) {
    Policy policy{mode, {}};
    for (unsigned long node = 0; node < bits - 1; ++node)
        if ((nodes[node / 64] >> node % 64 & 1) != 0)
            policy.nodes.insert(node);
    kernel.set.emplace_back(policy, driver().host_allocated);
    if (kernel.set_refused)
        return -1;
    kernel.policy = policy;
    return 0;
}

} // namespace

/// A machine of nodes 0 and 70, as far as they are online, and a device next to the latter.
struct Machine {
    const NodeCalls former_calls = node_calls;
    fs::path root;
    const CUcontext context = reinterpret_cast<CUcontext>(0x200'0000);
    const Policy programs{MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, {0, 3, 1023}}, near{MPOL_PREFERRED, {70}};
    CUresult answer = CUDA_ERROR_UNKNOWN;

    Machine() {
        observe::install_driver();
        driver().host_node = 70;
        std::string pattern = (fs::temp_directory_path() / "umadvisor-nodes-XXXXXX").string();
        root = mkdtemp(pattern.data());
        kernel = {};
        kernel.policy = programs;
        node_calls = {root.c_str(), fake_get, fake_set};
        online("0,70\n");
    }
    ~Machine() {
        forget_ring(observe::retire_context(context));
        node_calls = former_calls;
        fs::remove_all(root);
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    void online(const std::string& list) const {
        fs::create_directories(root / "sys/devices/system/node");
        std::ofstream(root / "sys/devices/system/node/online") << list;
    }
    StageRing* borrow(std::uint64_t row = 0) { return borrow_ring(context, row, answer); }
};

BOOST_FIXTURE_TEST_SUITE(machine, Machine)

BOOST_AUTO_TEST_CASE(a_ring_is_pinned_near_its_device_and_the_threads_policy_is_back) {
    StageRing* const ring = borrow();
    BOOST_TEST_REQUIRE(ring != nullptr);
    return_ring(*ring);
    BOOST_TEST_REQUIRE(borrow(staged_row_most) == ring); // it grows
    BOOST_TEST(driver().host_allocated == 2u);
    BOOST_TEST(driver().node_asked == 1u);
    const std::vector<std::pair<Policy, std::uint64_t>> expected{
        {near, 0}, {programs, 1}, {near, 1}, {programs, 2}};
    BOOST_TEST((kernel.set == expected));
}

BOOST_AUTO_TEST_CASE(also_where_the_driver_has_no_memory) {
    driver().host_answer = CUDA_ERROR_OUT_OF_MEMORY;
    BOOST_TEST(borrow() == nullptr);
    BOOST_TEST(kernel.set.size() == 2u);
    BOOST_TEST((kernel.policy == programs));
}

BOOST_AUTO_TEST_CASE(nobody_is_asked_on_a_machine_with_one_node) {
    online("0\n");
    BOOST_TEST(borrow() != nullptr);
    BOOST_TEST(driver().node_asked == 0u);
    BOOST_TEST(kernel.asked == 0);
    BOOST_TEST(kernel.set.empty());
}

BOOST_AUTO_TEST_CASE(nor_where_the_system_knows_no_nodes) {
    fs::remove_all(root / "sys");
    BOOST_TEST(borrow() != nullptr);
    BOOST_TEST(driver().node_asked == 0u);
    BOOST_TEST(kernel.asked == 0);
}

BOOST_AUTO_TEST_CASE(the_policy_is_left_alone_where_the_devices_node_is_not_known) {
    online("0-1\n");
    driver().host_node = -1;
    BOOST_TEST(borrow() != nullptr);
    BOOST_TEST(driver().node_asked == 1u);
    BOOST_TEST(kernel.asked == 0);
    BOOST_TEST(kernel.set.empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_set_that_could_not_be_put_back) {
    kernel.get_refused = true;
    BOOST_TEST(borrow() != nullptr);
    BOOST_TEST(kernel.asked == 1);
    BOOST_TEST(kernel.set.empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_the_kernel_refuses_leaves_all_as_it_is) {
    kernel.set_refused = true;
    BOOST_TEST(borrow() != nullptr);
    BOOST_TEST(kernel.set.size() == 1u); // nothing to put back
}

BOOST_AUTO_TEST_SUITE_END()

/// With the system's own calls: node 0 is everywhere.
BOOST_AUTO_TEST_CASE(the_kernel_takes_the_policy_and_takes_it_back) {
    constexpr unsigned long bits = 1025;
    const auto policy = [&] {
        unsigned long nodes[16]{};
        Policy now;
        BOOST_TEST(node_calls.get_policy(&now.mode, nodes, bits) == 0);
        for (unsigned long node = 0; node < bits - 1; ++node)
            if ((nodes[node / 64] >> node % 64 & 1) != 0)
                now.nodes.insert(node);
        return now;
    };
    const unsigned long first_node[16]{1};
    if (node_calls.set_policy(MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, first_node, bits) != 0) {
        BOOST_TEST_MESSAGE("no memory policies here: " << errno);
        return;
    }
    for (const Policy& programs : {Policy{MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, {0}}, Policy{}}) {
        BOOST_TEST((policy() == programs));
        {
            const NearNode near(1);
            BOOST_TEST((policy() == Policy{MPOL_PREFERRED, {0}}));
        }
        BOOST_TEST((policy() == programs));
        node_calls.set_policy(MPOL_DEFAULT, nullptr, 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
