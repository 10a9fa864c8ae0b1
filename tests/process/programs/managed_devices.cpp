// Managed memory where there are several devices: an array of each, and one that all of them reach in turn.
#include "driver_program.hpp"

#include <vector>

namespace {

constexpr std::size_t bytes = 8u << 20;
constexpr int rounds = 4;

struct Device {
    CUcontext context = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr own = 0;
};

CUdeviceptr make_array() {
    CUdeviceptr memory = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&memory, bytes, CU_MEM_ATTACH_GLOBAL), "managed");
    std::memset(reinterpret_cast<void*>(memory), 0, bytes);
    return memory;
}

void launch(const Device& device, CUdeviceptr memory) {
    void* parameters[]{&memory};
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(device.context), "current");
    must(ASK("cuLaunchKernel", cuLaunchKernel)(device.function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                                               nullptr),
         "launch");
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(nullptr), "wait");
}

float first_of(CUdeviceptr memory) {
    return *reinterpret_cast<const float*>(memory);
}

} // namespace

int main() {
    int count = 0;
    must(ASK("cuInit", cuInit)(0), "init");
    must(ASK("cuDeviceGetCount", cuDeviceGetCount)(&count), "count");
    std::vector<Device> devices(static_cast<std::size_t>(count));
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        Device& device = devices[static_cast<std::size_t>(ordinal)];
        must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&device.context, ordinal), "context");
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(device.context), "current");
        device.function = load_count_up();
        device.own = make_array();
    }
    const CUdeviceptr shared = make_array();
    for (int round = 0; round < rounds; ++round)
        for (const Device& device : devices) {
            launch(device, device.own);
            launch(device, shared);
        }
    for (const Device& device : devices)
        std::printf("own %g\n", static_cast<double>(first_of(device.own)));
    std::printf("shared %g\n", static_cast<double>(first_of(shared)));
    return 0;
}
