#include "trace_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    umadvisor::fuzz::read_trace(bytes, size);
    return 0;
}
