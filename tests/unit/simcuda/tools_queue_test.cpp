// What simcuda writes to rings and counters of the unified-memory tools device, against what its own counters
// tell.
#include "tests/unit/simcuda/tools_ring.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <numeric>
#include <thread>

using namespace simcuda;
using tools::EventType;

namespace {

constexpr std::size_t size = 8 << 20;
constexpr std::size_t granule = 64 << 10;
constexpr std::uint8_t read_access = 1;
constexpr std::uint8_t write_access = 2;
constexpr std::uint8_t by_user = 1;
constexpr std::uint8_t by_coherence = 2;
const cudaMemLocation device{cudaMemLocationTypeDevice, {0}};
const cudaMemLocation host{cudaMemLocationTypeHost, {0}};

KERNEL increment(DevicePtr<int> values, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        values[i] += 1;
}

KERNEL read_all(DevicePtr<const int> values, int count, DevicePtr<int> result) {
    int sum = 0;
    for (int i = 0; i < count; ++i)
        sum += values[i];
    result[0] = sum;
}

[[gnu::noinline]] int read_here(const volatile int* value) {
    return *value;
}

[[gnu::noinline]] void write_here(volatile int* value) {
    *value = 5;
}

template <class Function>
bool lies_in(std::uint64_t program_counter, Function* function) {
    return program_counter - reinterpret_cast<std::uint64_t>(function) < 64;
}

std::uint64_t total(const std::vector<tools::Migration>& migrations) {
    return std::accumulate(migrations.begin(), migrations.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& migration) { return sum + migration.bytes; });
}

} // namespace

struct ToolsFixture {
    static constexpr int count = size / sizeof(int);
    ToolsFixture() { CHECK_CUDA(cudaMallocManaged(&values, size)); }
    ~ToolsFixture() { cudaFree(values); }
    void fill() {
        for (int i = 0; i < count; ++i)
            values[i] = i;
    }
    void launch(int elements = count) {
        LAUNCH(increment, 1, 64, nullptr, values, elements);
        CHECK_CUDA(cudaDeviceSynchronize());
    }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(values); }
    bool holds(std::uint64_t at) const { return at - address() < size; }
    int* values = nullptr;
};

BOOST_FIXTURE_TEST_SUITE(tools_queue, ToolsFixture)

BOOST_AUTO_TEST_CASE(migrations_are_those_of_the_counters) {
    fill();
    Ring ring(tools::flag(EventType::migration));
    Counting counting;
    const Control before = control();
    const auto start = now();
    launch();
    const auto there = ring.take<tools::Migration>(EventType::migration);
    BOOST_TEST(total(there) == size);
    for (const tools::Migration& migration : there) {
        BOOST_TEST(migration.from == 0);
        BOOST_TEST(migration.to == 1);
        BOOST_TEST(migration.cause == by_coherence);
        BOOST_TEST(holds(migration.address));
        BOOST_TEST(migration.begin >= start);
        BOOST_TEST(migration.end > migration.begin);
        BOOST_TEST(migration.end <= now());
    }
    values[0] = 1;
    const auto back = ring.take<tools::Migration>(EventType::migration);
    BOOST_TEST(total(back) == granule);
    BOOST_TEST(back.at(0).from == 1);
    BOOST_TEST(back.at(0).to == 0);
    BOOST_TEST(counting.values[tools::bytes_to_device] == size);
    BOOST_TEST(counting.values[tools::bytes_to_host] == granule);
    BOOST_TEST(control().bytes_to_device[2] - before.bytes_to_device[2] == size);
    BOOST_TEST(control().bytes_to_host[2] - before.bytes_to_host[2] == granule);
}

BOOST_AUTO_TEST_CASE(device_faults_are_granules_in_groups) {
    fill();
    Ring ring(tools::flag(EventType::device_fault));
    Counting counting;
    const auto groups = control().device_fault_groups;
    launch();
    const auto faults = ring.take<tools::DeviceFault>(EventType::device_fault);
    BOOST_TEST(counting.values[tools::device_faults] == faults.size());
    // The driver's prefetch leaves six of a block's granules to fault.
    BOOST_TEST(faults.size() == 6 * size / (2 << 20));
    BOOST_TEST(faults.back().batch - faults.front().batch + 1 == control().device_fault_groups - groups);
    BOOST_TEST(faults.front().address == address());
    BOOST_TEST(faults.front().access == read_access);
    BOOST_TEST(faults.front().device == 1);
}

BOOST_AUTO_TEST_CASE(a_host_fault_names_thread_and_instruction) {
    fill();
    launch();
    Ring ring(tools::flag(EventType::host_fault));
    Counting counting;
    const auto before = control().host_faults;
    pid_t reader = 0;
    std::thread([&] {
        reader = gettid();
        read_here(values + 1);
    }).join();
    write_here(values + (1 << 20));
    const auto faults = ring.take<tools::HostFault>(EventType::host_fault);
    BOOST_REQUIRE(faults.size() == 2u);
    BOOST_TEST(faults[0].access == read_access);
    BOOST_TEST(faults[0].address == address());
    BOOST_TEST(faults[0].thread == static_cast<unsigned>(reader));
    BOOST_TEST(faults[0].process == static_cast<unsigned>(getpid()));
    BOOST_TEST(lies_in(faults[0].program_counter, read_here));
    BOOST_TEST(faults[1].access == write_access);
    BOOST_TEST(faults[1].address == address() + (4 << 20));
    BOOST_TEST(faults[1].thread == static_cast<unsigned>(gettid()));
    BOOST_TEST(lies_in(faults[1].program_counter, write_here));
    BOOST_TEST(counting.values[tools::host_faults] == control().host_faults - before);
}

BOOST_AUTO_TEST_CASE(a_fault_in_a_system_call_is_the_callers) {
    const long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (descriptor < 0) {
        BOOST_TEST_MESSAGE("skipped: no privilege to serve faults of system calls");
        return;
    }
    close(static_cast<int>(descriptor));
    fill();
    launch();
    Ring ring(tools::flag(EventType::host_fault));
    int ends[2];
    BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    BOOST_TEST(write(ends[1], values, 4) == 4);
    close(ends[0]);
    close(ends[1]);
    const auto faults = ring.take<tools::HostFault>(EventType::host_fault);
    BOOST_REQUIRE(faults.size() == 1u);
    Dl_info found{};
    BOOST_REQUIRE(dladdr(reinterpret_cast<void*>(faults[0].program_counter), &found) != 0);
    BOOST_TEST(std::string(found.dli_fname).find("libc.so") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(prefetch_is_the_users_doing) {
    fill();
    Ring ring(~0ull << 1 & 0x7fff);
    CHECK_CUDA(cudaMemPrefetchAsync(values, size, device, 0, nullptr));
    CHECK_CUDA(cudaDeviceSynchronize());
    BOOST_TEST(ring.waiting() == size / (2 << 20));
    const auto moved = ring.take<tools::Migration>(EventType::migration);
    BOOST_TEST(total(moved) == size);
    for (const tools::Migration& migration : moved)
        BOOST_TEST(migration.cause == by_user);
}

BOOST_AUTO_TEST_CASE(thrashing_is_told_and_throttled) {
    values[0] = 0;
    Ring thrashing(tools::flag(EventType::thrashing));
    Ring throttling(tools::flag(EventType::throttling_start) | tools::flag(EventType::throttling_end));
    Ring remote(tools::flag(EventType::remote_map));
    const Control before = control();
    for (int round = 0; round < 40; ++round) {
        launch(1);
        values[0] = round;
    }
    const auto found = thrashing.take<tools::Thrashing>(EventType::thrashing);
    BOOST_TEST(found.size() == control().thrashing_pages - before.thrashing_pages);
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found[0].address == address());
    BOOST_TEST(found[0].bytes == 4096u);
    BOOST_TEST(found[0].processors[0] == 3u);
    BOOST_TEST(control().throttlings > before.throttlings);
    const auto waits = throttling.waiting();
    BOOST_TEST(waits == 2 * (control().throttlings - before.throttlings));
    std::uint64_t start = 0;
    for (const tools::Throttling& end : throttling.take<tools::Throttling>(EventType::throttling_end)) {
        BOOST_TEST(end.address == address());
        BOOST_TEST(end.time > start);
        start = end.time;
    }
    // Host and device take turns here, and what one of them waits for brings the page to rest.
    BOOST_TEST(remote.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(advice_maps_by_policy) {
    fill();
    Ring ring(tools::flag(EventType::remote_map));
    CHECK_CUDA(cudaMemAdvise(values, size, cudaMemAdviseSetAccessedBy, device));
    const auto mapped = ring.take<tools::RemoteMap>(EventType::remote_map);
    BOOST_TEST(mapped.size() == size / (2 << 20));
    BOOST_TEST(mapped.at(0).cause == 3);
    BOOST_TEST(mapped.at(0).bytes == 2u << 20);
}

BOOST_AUTO_TEST_CASE(read_mostly_duplicates_page_by_page_until_a_write) {
    fill();
    int* result = nullptr;
    CHECK_CUDA(cudaMalloc(&result, sizeof *result));
    CHECK_CUDA(cudaMemAdvise(values, size, cudaMemAdviseSetReadMostly, host));
    Ring begun(tools::flag(EventType::read_duplicate));
    Ring ended(tools::flag(EventType::read_duplicate_end));
    Ring faults(tools::flag(EventType::host_fault));
    LAUNCH(read_all, 1, 1, nullptr, values, count, result);
    CHECK_CUDA(cudaDeviceSynchronize());
    const auto duplicates = begun.take<tools::Thrashing>(EventType::read_duplicate);
    BOOST_TEST(duplicates.size() == size / 4096);
    BOOST_TEST(duplicates.at(1).processors[0] == 3u);
    BOOST_TEST(duplicates.at(1).address == address() + 4096);
    BOOST_TEST(ended.waiting() == 0u);
    write_here(values + 2048);
    const auto ends = ended.take<tools::ReadDuplicateEnd>(EventType::read_duplicate_end);
    BOOST_REQUIRE(ends.size() == 1u);
    BOOST_TEST(ends[0].address == address() + 8192);
    BOOST_TEST(ends[0].resident == 0);
    const auto writes = faults.take<tools::HostFault>(EventType::host_fault);
    BOOST_REQUIRE(writes.size() == 1u);
    BOOST_TEST(writes[0].access == write_access);
    CHECK_CUDA(cudaFree(result));
}

BOOST_AUTO_TEST_CASE(a_full_ring_loses_and_counts) {
    Ring small(tools::flag(EventType::host_fault), 8);
    Ring large(tools::flag(EventType::host_fault));
    for (std::size_t at = 0; at < 20; ++at)
        values[2 * at * granule / sizeof(int)] = 1; // half of anything is not enough to fetch the rest
    BOOST_TEST(large.waiting() == 20u);
    BOOST_TEST(small.waiting() == 7u);
    BOOST_TEST(small.control->lost[1] == 13u);
    BOOST_TEST(small.control->put_ahead == small.control->put_behind);
    const auto kept = small.take<tools::HostFault>(EventType::host_fault);
    BOOST_TEST(kept.at(6).address == address() + 12 * granule);
    values[50 * granule / sizeof(int)] = 1;
    const auto later = small.take<tools::HostFault>(EventType::host_fault);
    BOOST_REQUIRE(later.size() == 1u);
    BOOST_TEST(later[0].address == address() + 50 * granule);
}

BOOST_AUTO_TEST_CASE(what_is_not_wanted_is_not_written) {
    Ring faults(tools::flag(EventType::host_fault));
    Ring migrations(tools::flag(EventType::migration));
    Counting counting;
    values[0] = 1;
    BOOST_TEST(faults.waiting() == 1u);
    BOOST_TEST(migrations.waiting() == 0u);
    BOOST_TEST(faults.turn(tools::Switch::disable_events, tools::flag(EventType::host_fault)) == 0u);
    BOOST_TEST(counting.turn(tools::Switch::disable_counters, 1u << tools::host_faults) == 0u);
    values[granule / sizeof(int)] = 1;
    BOOST_TEST(faults.waiting() == 1u);
    BOOST_TEST(counting.values[tools::host_faults] == 1u);
    launch(1);
    BOOST_TEST(counting.values[tools::bytes_to_device] == granule);
}

BOOST_AUTO_TEST_CASE(counters_may_be_those_of_one_processor) {
    struct OneProcessor : TrackerOwner {
        alignas(4096) std::uint64_t values[512] = {};
    };
    // The processor of no name.
    const auto one = std::make_unique<OneProcessor>();
    BOOST_TEST(one->open(nullptr, 0, one->values, false) == 0u);
    BOOST_TEST(one->turn(tools::Switch::enable_counters, ~0ull) == 0u);
    values[0] = 1;
    BOOST_TEST(one->values[tools::host_faults] == 0u);
}

BOOST_AUTO_TEST_CASE(wrong_use_is_refused_as_the_module_does) {
    alignas(4096) static std::uint64_t memory[1024];
    constexpr std::uint32_t invalid_argument = 0x1f;
    constexpr std::uint32_t invalid_address = 0x1e;
    TrackerOwner tracker;
    BOOST_TEST(tracker.open(memory, 1, memory) == invalid_argument);
    BOOST_TEST(tracker.open(memory, 24, memory) == invalid_argument);
    BOOST_TEST(tracker.open(memory + 1, 32, memory) == invalid_address);
    BOOST_TEST(tracker.open(nullptr, 0, memory + 1) == invalid_address);
    Ring ring(tools::flag(EventType::migration));
    Counting counting;
    BOOST_TEST(ring.turn(tools::Switch::enable_counters, 1) == invalid_argument);
    BOOST_TEST(counting.turn(tools::Switch::disable_events, 2) == invalid_argument);
    BOOST_TEST(ring.turn(tools::Switch::enable_events, 1) == invalid_argument);
    BOOST_TEST(ring.turn(tools::Switch::enable_events, 1 << 15) == invalid_argument);
    errno = 0;
    BOOST_TEST(tools_device(12345, 0, nullptr) == -1);
    BOOST_TEST(errno == EBADF);
    BOOST_TEST(tools_device(ring.number, 1234, memory) == -1);
    BOOST_TEST(errno == EINVAL);
    BOOST_TEST(tools_device(ring.number, tools::Switch::enable_events, nullptr) == -1);
    BOOST_TEST(errno == EFAULT);
    tools::Flush flush{77};
    BOOST_TEST(tools_device(ring.number, tools::Flush::command, &flush) == 0);
    BOOST_TEST(flush.status == 0u);
}

BOOST_AUTO_TEST_CASE(the_table_names_the_device) {
    std::vector<unsigned char> table(tools::ProcessorTable::processors * 16, 0xff);
    tools::ProcessorTable wanted{reinterpret_cast<std::uint64_t>(table.data()), 77, 0};
    BOOST_TEST(tools_device(-1, tools::ProcessorTable::command, &wanted) == 0);
    BOOST_TEST(wanted.status == 0u);
    unsigned char uuid[16];
    BOOST_TEST(driver_symbol<int(unsigned char*, int)>("cuDeviceGetUuid")(uuid, 0) == 0);
    BOOST_TEST(std::memcmp(table.data() + 16, uuid, sizeof uuid) == 0);
    BOOST_TEST(table[0] == 0xa6);
    BOOST_TEST(table[2 * 16] == 0);
    BOOST_TEST(table.back() == 0);
}

BOOST_AUTO_TEST_CASE(parameters_are_the_modules) {
    const auto parameter = [](const char* name) {
        unsigned value = 0;
        BOOST_TEST(driver_symbol<decltype(simcuda_uvm_parameter)>("simcuda_uvm_parameter")(name, &value) == 0);
        return value;
    };
    BOOST_TEST(parameter("uvm_perf_prefetch_enable") == 1u);
    BOOST_TEST(parameter("uvm_perf_prefetch_threshold") == 51u);
    BOOST_TEST(parameter("uvm_perf_thrashing_lapse_usec") == 500u);
    BOOST_TEST(parameter("uvm_perf_thrashing_nap") == 1u);
    BOOST_TEST(parameter("uvm_perf_thrashing_epoch") == 2000u);
    BOOST_TEST(parameter("uvm_perf_thrashing_pin") == 300u);
    unsigned value = 5;
    BOOST_TEST(driver_symbol<decltype(simcuda_uvm_parameter)>("simcuda_uvm_parameter")("uvm", &value) == -1);
    BOOST_TEST(value == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
