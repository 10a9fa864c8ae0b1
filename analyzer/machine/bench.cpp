#include "analyzer/machine/bench.hpp"

#include "analyzer/reader/error.hpp"

namespace umadvisor::machine {
namespace {

std::string name_of(const Driver& cuda, int device) {
    std::array<char, 256> name{};
    check(cuda.get_name(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName");
    return name.data();
}

} // namespace

int ordinal_of(const std::string& name) {
    const Driver cuda;
    int count = 0;
    check(cuda.initialize(0), "cuInit");
    check(cuda.count_devices(&count), "cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ++ordinal)
        if (int device = 0; cuda.get_device(&device, ordinal) == 0 && name_of(cuda, device) == name)
            return ordinal;
    throw reader::Error("no device is called " + name + " here; umadvisor doctor says which there are");
}

Bench::Bench(int ordinal) {
    check(cuda_.initialize(0), "cuInit");
    check(cuda_.get_device(&device_, ordinal), "cuDeviceGet");
    check(cuda_.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
    check(cuda_.set_context(context_), "cuCtxSetCurrent");
    check(cuda_.create_event(&from_, 0), "cuEventCreate");
    check(cuda_.create_event(&to_, 0), "cuEventCreate");
    floor_ = typical([] {});
}

std::string Bench::device_name() const {
    return name_of(cuda_, device_);
}

} // namespace umadvisor::machine
