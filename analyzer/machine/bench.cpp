#include "analyzer/machine/bench.hpp"

namespace umadvisor::machine {

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
    std::array<char, 256> name{};
    check(cuda_.get_name(name.data(), static_cast<int>(name.size()) - 1, device_), "cuDeviceGetName");
    return name.data();
}

} // namespace umadvisor::machine
