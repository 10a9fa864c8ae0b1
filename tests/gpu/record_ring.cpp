/// Writes to the file that the argument names what the driver's tools interface says of a few accesses to
/// managed memory, entry after entry, raw: what the decoder is tested with where there is no GPU. Prints what
/// it did, a line for each step.
#include "interposer/attach/driver.hpp"
#include "interposer/observe/tools_device.hpp"
#include "interposer/observe/tools_ring.hpp"
#include "tests/process/programs/driver_program.hpp"

#include <sys/mman.h>

using namespace umadvisor;
namespace tools = residency::tools;

/// There is no shim here that would know.
attach::ToolsCommand attach::simulated_tools() noexcept {
    return nullptr;
}

namespace {

constexpr std::size_t bytes = 4 << 20, granule = 64 << 10;
constexpr std::uint32_t entries = 1 << 14;

struct Shared {
    tools::Entry ring[entries];
    alignas(4096) tools::Control control;
};

CUfunction kernel;

void synchronize() {
    must(ask<decltype(&cuCtxSynchronize)>("cuCtxSynchronize", 12000)(),
         "synchronize"); // it takes a context from 13000 on
}

void touch_on_device(CUdeviceptr address) {
    void* parameters[] = {&address};
    must(ASK("cuLaunchKernel", cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
         "launch");
    synchronize();
}

void touch_all(CUdeviceptr memory) {
    for (std::size_t at = 0; at < bytes; at += granule)
        touch_on_device(memory + at);
}

[[gnu::noinline]] void touch_on_host(CUdeviceptr address) {
    *reinterpret_cast<volatile float*>(address) = 1;
}

void prefetch(CUdeviceptr memory, CUmemLocationType to) {
    const auto call = ask<decltype(&cuMemPrefetchAsync_v2)>("cuMemPrefetchAsync", 12020);
    must(call(memory, bytes, {to, {0}}, 0, nullptr), "prefetch");
    synchronize();
}

void advise(CUdeviceptr memory, CUmem_advise advice, CUmemLocationType to) {
    const auto call = ask<decltype(&cuMemAdvise_v2)>("cuMemAdvise", 12020);
    must(call(memory, bytes, advice, {to, {0}}), "advise");
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    make_context();
    kernel = load_count_up();
    CUdeviceptr memory = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&memory, bytes, CU_MEM_ATTACH_GLOBAL), "allocate");

    auto* const shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    observe::ToolsTracker tracker;
    if (const char* const trouble = tracker.open(shared->ring, entries, &shared->control)) {
        std::printf("%s\n", trouble);
        return 3;
    }
    std::uint64_t types = 0;
    for (unsigned type = 1; type <= static_cast<unsigned>(tools::EventType::eviction); ++type)
        types |= std::uint64_t{1} << type;
    if (!tracker.enable(types))
        return 3;
    std::printf("memory %llx of %zu bytes\n", memory, bytes);

    std::memset(reinterpret_cast<void*>(memory), 1, bytes); // the host's first touch
    touch_all(memory);                                      // to the device by faults
    touch_on_host(memory + 3 * granule);                    // 64 KiB back
    prefetch(memory, CU_MEM_LOCATION_TYPE_HOST);
    prefetch(memory, CU_MEM_LOCATION_TYPE_DEVICE);
    for (int round = 0; round < 40; ++round) { // each within the driver's lapse of 500 us
        touch_on_device(memory);
        touch_on_host(memory);
    }
    advise(memory, CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_LOCATION_TYPE_DEVICE);
    prefetch(memory, CU_MEM_LOCATION_TYPE_DEVICE);
    touch_on_host(memory + 5 * granule);
    advise(memory, CU_MEM_ADVISE_UNSET_READ_MOSTLY, CU_MEM_LOCATION_TYPE_DEVICE);
    prefetch(memory, CU_MEM_LOCATION_TYPE_HOST);
    advise(memory, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_LOCATION_TYPE_DEVICE);
    touch_all(memory);

    tracker.flush();
    std::FILE* const file = std::fopen(argv[1], "wb");
    std::size_t count[tools::event_types] = {};
    observe::ToolsRing ring(shared->ring, entries, &shared->control);
    ring.read([&](const tools::Entry& entry) {
        ++count[entry.bytes[0] % tools::event_types];
        if (file != nullptr)
            std::fwrite(entry.bytes, sizeof entry.bytes, 1, file);
    });
    for (std::size_t type = 0; type < tools::event_types; ++type)
        if (count[type] != 0)
            std::printf("type %zu: %zu\n", type, count[type]);
    std::printf("lost %llu\n", static_cast<unsigned long long>(ring.lost()));
    return file != nullptr && std::fclose(file) == 0 ? 0 : 3;
}
