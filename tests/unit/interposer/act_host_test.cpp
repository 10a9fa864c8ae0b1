#include "interposer/act/devices.hpp"
#include "interposer/act/host.hpp"
#include "interposer/record/control_groups.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

BOOST_AUTO_TEST_SUITE(act_host)

using namespace umadvisor::act;
using namespace umadvisor::record;
namespace fs = std::filesystem;

constexpr std::uint64_t gib = 1ull << 30;

/// A host of our own, with 8 GiB to spare.
struct Host {
    fs::path root;
    Host() {
        std::string pattern = (fs::temp_directory_path() / "umadvisor-host-XXXXXX").string();
        root = mkdtemp(pattern.data());
        write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
    }
    ~Host() { fs::remove_all(root); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    }
    std::uint64_t free() const { return free_host_memory(root.c_str()); }
};

BOOST_FIXTURE_TEST_CASE(without_groups_it_is_what_the_host_has, Host) {
    BOOST_TEST(free() == 8 * gib);
    write("proc/self/cgroup", "0::/\n");
    BOOST_TEST(free() == 8 * gib);
    write("sys/fs/cgroup/memory.max", "max\n");
    write("sys/fs/cgroup/memory.current", "4096\n");
    BOOST_TEST(free() == 8 * gib);
}

BOOST_FIXTURE_TEST_CASE(a_group_and_those_above_it_count, Host) {
    write("proc/self/cgroup", "0::/job/step\n");
    write("sys/fs/cgroup/job/memory.max", std::to_string(4 * gib) + "\n");
    write("sys/fs/cgroup/job/memory.current", std::to_string(1 * gib) + "\n");
    BOOST_TEST(free() == 3 * gib);
    write("sys/fs/cgroup/job/step/memory.max", std::to_string(2 * gib) + "\n");
    write("sys/fs/cgroup/job/step/memory.current", std::to_string(1 * gib) + "\n");
    BOOST_TEST(free() == 1 * gib);
    write("sys/fs/cgroup/job/step/memory.current", std::to_string(3 * gib) + "\n");
    BOOST_TEST(free() == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_smallest_limit_of_a_group_counts, Host) {
    const auto limit = [&] { return memory_limit_by_groups(root.c_str()); };
    BOOST_TEST(limit() == no_limit);
    write("proc/self/cgroup", "4:memory:/pod\n0::/job/step\n");
    write("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/job/memory.max", "max\n");
    BOOST_TEST(limit() == no_limit);
    write("sys/fs/cgroup/job/memory.max", std::to_string(4 * gib) + "\n");
    write("sys/fs/cgroup/job/step/memory.max", std::to_string(5 * gib) + "\n");
    BOOST_TEST(limit() == 4 * gib);
}

BOOST_FIXTURE_TEST_CASE(in_a_container_the_path_may_be_the_hosts, Host) {
    write("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/0123\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2 * gib) + "\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
    BOOST_TEST(free() == 2 * gib);
}

BOOST_FIXTURE_TEST_CASE(cores_are_what_the_groups_grant, Host) {
    const auto cores = [&] { return cores_of_groups(root.c_str()); };
    BOOST_TEST(cores() == no_limit);
    write("proc/self/cgroup", "3:cpu,cpuacct:/pod\n2:cpuset:/\n0::/job/step\n");
    BOOST_TEST(cores() == no_limit);
    write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    BOOST_TEST(cores() == no_limit);
    write("sys/fs/cgroup/job/cpu.max", "850000 100000\n");
    BOOST_TEST(cores() == 8u);
    write("sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
    BOOST_TEST(cores() == 4u);
    write("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
    BOOST_TEST(cores() == 4u);
    write("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "200000\n");
    BOOST_TEST(cores() == 2u);
    write("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "50000\n");
    BOOST_TEST(cores() == 1u);
    write("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "0\n");
    BOOST_TEST(cores() == 4u);
}

BOOST_AUTO_TEST_CASE(this_host_has_something_to_share) {
    BOOST_TEST(host_share() > 0u);
    BOOST_TEST(host_share() == host_share());
}

BOOST_AUTO_TEST_CASE(the_greatest_world_counts) {
    setenv("WORLD_SIZE", "2", 1);
    setenv("PMI_SIZE", "8", 1);
    BOOST_TEST(launcher_world().size == 8u);
    BOOST_TEST(std::string(launcher_world().variable) == "PMI_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("WORLD_SIZE");
    BOOST_TEST(launcher_world().size == 1u);
}

BOOST_AUTO_TEST_CASE(a_budget_is_of_each_device_or_of_all) {
    BOOST_TEST(reserve_rewritten(1, 60, {100, false}));
    BOOST_TEST(!reserve_rewritten(1, 41, {100, false}));
    BOOST_TEST(reserve_rewritten(2, 100, {100, false}));
    const std::uint64_t both = 160;
    BOOST_TEST(!reserve_rewritten(3, 1, {both, true}));
    remove_rewritten(2, 100);
    BOOST_TEST(reserve_rewritten(3, 100, {both, true}));
    BOOST_TEST(!reserve_rewritten(1, UINT64_MAX, {100, false}));
    remove_rewritten(3, 100);
    remove_rewritten(1, 60);
}

BOOST_AUTO_TEST_SUITE_END()
