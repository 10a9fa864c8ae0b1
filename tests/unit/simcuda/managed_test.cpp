// Managed memory: what the host sees of it is real, and the counters tell the same story.
#include "tests/unit/in_threads.hpp"
#include "tests/unit/simcuda/runtime_library.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(simcuda_managed)

using namespace simcuda;

namespace {

constexpr std::size_t size = 8 << 20;
constexpr std::size_t page = 4096;
const cudaMemLocation device{cudaMemLocationTypeDevice, {0}};
const cudaMemLocation host{cudaMemLocationTypeHost, {0}};

/// How many pages of the range the host has mapped, from the present bit of /proc/self/pagemap.
std::size_t present_pages(const void* address, std::size_t bytes) {
    std::vector<std::uint64_t> entries(bytes / page);
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    BOOST_REQUIRE(pagemap >= 0);
    const auto offset =
        static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / page * sizeof entries[0]);
    BOOST_REQUIRE(pread(pagemap, entries.data(), entries.size() * sizeof entries[0], offset) ==
                  static_cast<ssize_t>(entries.size() * sizeof entries[0]));
    close(pagemap);
    std::size_t present = 0;
    for (const std::uint64_t entry : entries)
        present += entry >> 63;
    return present;
}

KERNEL increment(DevicePtr<int> values, int count) {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += static_cast<int>(gridDim.x * blockDim.x))
        values[i] += 1;
}

/// How far the sum of the values is from 0 + 1 + 2 + ...
KERNEL sum_up(DevicePtr<const int> values, int count, DevicePtr<int> result) {
    long sum = 0;
    for (int i = 0; i < count; ++i)
        sum += values[i] - i;
    result[0] = static_cast<int>(sum);
}

} // namespace

struct ManagedFixture {
    static constexpr int count = size / sizeof(int);
    ManagedFixture() { CHECK_CUDA(cudaMallocManaged(&values, size)); }
    ~ManagedFixture() { cudaFree(values); }
    void fill() {
        for (int i = 0; i < count; ++i)
            values[i] = i;
    }
    void launch() {
        LAUNCH(increment, 64, 128, nullptr, values, count);
        CHECK_CUDA(cudaDeviceSynchronize());
    }
    int* values = nullptr;
};

BOOST_FIXTURE_TEST_SUITE(managed_memory, ManagedFixture)

BOOST_AUTO_TEST_CASE(fresh_memory_is_present_nowhere) {
    BOOST_TEST(present_pages(values, size) == 0u);
}

BOOST_AUTO_TEST_CASE(a_host_touch_is_a_fault_of_one_granule) {
    const auto before = control().host_faults;
    values[3] = 1;
    BOOST_TEST(present_pages(values, size) == 16u);
    BOOST_TEST(control().host_faults == before + 1);
}

BOOST_AUTO_TEST_CASE(a_kernel_takes_the_pages_and_a_touch_brings_them_back) {
    fill();
    BOOST_TEST(present_pages(values, size) == size / page);
    const auto moved = control().bytes_to_device[2];
    const auto groups = control().device_fault_groups;
    launch();
    BOOST_TEST(present_pages(values, size) == 0u);
    BOOST_TEST(control().bytes_to_device[2] == moved + size);
    BOOST_TEST(control().device_fault_groups == groups + 6 * size / (2 << 20));
    BOOST_TEST(values[10] == 11);
    BOOST_TEST(present_pages(values, size) == 16u);
    for (int i = 0; i < count; ++i)
        BOOST_REQUIRE(values[i] == i + 1);
    BOOST_TEST(present_pages(values, size) == size / page);
}

BOOST_AUTO_TEST_CASE(faults_cost_time) {
    fill();
    const auto before = now();
    launch();
    const auto by_faults = now() - before;
    const auto again = now();
    launch();
    BOOST_TEST(by_faults > 20 * (now() - again));
}

BOOST_AUTO_TEST_CASE(the_kernel_can_fault_for_a_system_call) {
    fill();
    launch();
    int ends[2];
    BOOST_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    // Without privilege userfaultfd serves user mode alone, and the system call answers EFAULT.
    const long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (descriptor < 0) {
        BOOST_TEST(write(ends[1], values + 100, sizeof(int)) == -1);
        BOOST_TEST(errno == EFAULT);
        close(ends[0]);
        close(ends[1]);
        return;
    }
    close(static_cast<int>(descriptor));
    BOOST_TEST(write(ends[1], values + 100, sizeof(int)) == static_cast<ssize_t>(sizeof(int)));
    int read_back = 0;
    BOOST_TEST(read(ends[0], &read_back, sizeof read_back) == static_cast<ssize_t>(sizeof read_back));
    BOOST_TEST(read_back == 101);
    close(ends[0]);
    close(ends[1]);
}

BOOST_AUTO_TEST_CASE(copies_see_what_the_host_wrote) {
    fill();
    std::vector<int> copy(count);
    CHECK_CUDA(cudaMemcpy(copy.data(), values, size, cudaMemcpyDefault));
    BOOST_TEST(copy[count - 1] == count - 1);
}

BOOST_AUTO_TEST_CASE(several_host_threads_fault_at_once) {
    fill();
    launch();
    std::vector<long> sums(4);
    umadvisor::test::in_threads(sums.size(), [&](std::size_t index) {
        for (int i = static_cast<int>(index); i < count; i += 4)
            sums[index] += values[i];
    });
    BOOST_TEST(sums[0] + sums[1] + sums[2] + sums[3] == static_cast<long>(count) * (count - 1) / 2 + count);
}

BOOST_AUTO_TEST_CASE(out_pointers_may_lie_in_managed_memory) {
    fill();
    launch();
    auto** inside = reinterpret_cast<void**>(values);
    CHECK_CUDA(cudaMalloc(inside, 4096));
    CHECK_CUDA(cudaFree(*inside));
}

BOOST_AUTO_TEST_CASE(freed_memory_comes_back_empty) {
    fill();
    CHECK_CUDA(cudaFree(values));
    CHECK_CUDA(cudaMallocManaged(&values, size));
    BOOST_TEST(present_pages(values, size) == 0u);
    BOOST_TEST(values[77] == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(placement, ManagedFixture)

BOOST_AUTO_TEST_CASE(prefetch_spares_the_faults) {
    if (variant() == "nocma") {
        BOOST_TEST(cudaMemPrefetchAsync(values, size, device, 0, nullptr) == cudaErrorInvalidDevice);
        cudaGetLastError();
        return;
    }
    fill();
    const auto groups = control().device_fault_groups;
    CHECK_CUDA(cudaMemPrefetchAsync(values, size, device, 0, nullptr));
    BOOST_TEST(present_pages(values, size) == 0u);
    launch();
    BOOST_TEST(control().device_fault_groups == groups);
    const auto faults = control().host_faults;
    CHECK_CUDA(cudaMemPrefetchAsync(values, size, host, 0, nullptr));
    BOOST_TEST(present_pages(values, size) == size / page);
    BOOST_TEST(values[count - 1] == count);
    BOOST_TEST(control().host_faults == faults);
}

BOOST_AUTO_TEST_CASE(preferring_the_host_keeps_the_pages_there) {
    fill();
    CHECK_CUDA(cudaMemAdvise(values, size, cudaMemAdviseSetPreferredLocation, host));
    launch();
    BOOST_TEST(present_pages(values, size) == size / page);
    BOOST_TEST(values[5] == 6);
}

BOOST_AUTO_TEST_CASE(read_mostly_duplicates_until_the_host_writes) {
    fill();
    int* result = nullptr;
    CHECK_CUDA(cudaMallocManaged(&result, sizeof *result));
    CHECK_CUDA(cudaMemAdvise(values, size, cudaMemAdviseSetReadMostly, host));
    const auto read_on_device = [&] {
        LAUNCH(sum_up, 1, 1, nullptr, values, count, result);
        CHECK_CUDA(cudaDeviceSynchronize());
        return control().device_fault_groups;
    };
    read_on_device();
    BOOST_TEST(present_pages(values, size) == size / page);
    const auto groups = read_on_device();
    const auto faults = control().host_faults;
    values[9] = 1000;
    values[9] = 1009;
    BOOST_TEST(control().host_faults == faults + 1);
    BOOST_TEST(read_on_device() > groups);
    BOOST_TEST(values[9] == 1009);
    BOOST_TEST(*result == 1000);
    CHECK_CUDA(cudaFree(result));
}

BOOST_AUTO_TEST_CASE(advice_on_other_memory_is_refused) {
    int on_stack = 0;
    BOOST_TEST(cudaMemAdvise(&on_stack, sizeof on_stack, cudaMemAdviseSetReadMostly, device) ==
               cudaErrorInvalidValue);
    BOOST_TEST(cudaMemPrefetchAsync(&on_stack, sizeof on_stack, device, 0, nullptr) == cudaErrorInvalidValue);
    cudaGetLastError();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
