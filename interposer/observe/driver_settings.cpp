#include "interposer/observe/driver_settings.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/base/text.hpp"

#include <cstdio>
#include <cstdlib>

namespace umadvisor::observe {

namespace {

bool read_parameter(const char* name, unsigned& value) {
    if (const auto simulated = attach::simulated_parameter())
        return simulated(name, &value) == 0;
    char path[128];
    base::SmallFile<32> text;
    std::snprintf(path, sizeof path, "/sys/module/nvidia_uvm/parameters/%s", name);
    if (!text.read(path))
        return false;
    char* end = nullptr;
    value = static_cast<unsigned>(std::strtoul(text.bytes, &end, 10));
    return end != text.bytes;
}

} // namespace

std::string_view driver_release(ReleaseText& release) noexcept {
    if (attach::simulated_parameter() != nullptr || !release.read("/sys/module/nvidia/version"))
        return {};
    return base::first(release.view(), release.view().find('\n'));
}

std::string_view coherent_memory_mode_in(std::string_view text) noexcept {
    constexpr std::string_view key = "CoherentGPUMemoryMode:";
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos || (at != 0 && text[at - 1] != '\n'))
        return {};
    std::string_view value = base::after(text, at + key.size());
    value = base::first(value, value.find('\n'));
    const std::size_t first = value.find('"'), last = value.rfind('"');
    return first == last ? std::string_view() : base::first(base::after(value, first + 1), last - first - 1);
}

std::string_view coherent_memory_mode() noexcept {
    static base::SmallFile<8192> text;
    if (attach::simulated_parameter() != nullptr || !text.read("/proc/driver/nvidia/params"))
        return {};
    return coherent_memory_mode_in(text.view());
}

std::uint64_t hmm_disabled() noexcept {
    unsigned value = 0;
    return read_parameter("uvm_disable_hmm", value) ? std::uint64_t{value} + 1 : 0;
}

void read_parameters(trace::ManagedSource& record) noexcept {
    unsigned prefetch = 0, prefetch_threshold = 0, thrashing = 0, threshold = 0, pin_threshold = 0, lapse = 0,
             nap = 0, epoch = 0, pin = 0;
    if (!read_parameter("uvm_perf_prefetch_enable", prefetch) ||
        !read_parameter("uvm_perf_prefetch_threshold", prefetch_threshold) ||
        !read_parameter("uvm_perf_thrashing_enable", thrashing) ||
        !read_parameter("uvm_perf_thrashing_threshold", threshold) ||
        !read_parameter("uvm_perf_thrashing_pin_threshold", pin_threshold) ||
        !read_parameter("uvm_perf_thrashing_lapse_usec", lapse) ||
        !read_parameter("uvm_perf_thrashing_nap", nap) || !read_parameter("uvm_perf_thrashing_epoch", epoch) ||
        !read_parameter("uvm_perf_thrashing_pin", pin))
        return;
    record.parameters_known = 1;
    record.prefetch = prefetch;
    record.prefetch_threshold = prefetch_threshold;
    record.thrashing = thrashing;
    record.thrashing_threshold = threshold;
    record.thrashing_pin_threshold = pin_threshold;
    record.thrashing_lapse = lapse;
    // These are multiples of the lapse (uvm_perf_thrashing.c).
    record.thrashing_nap = std::uint64_t{nap} * lapse;
    record.thrashing_epoch = std::uint64_t{epoch} * lapse;
    record.thrashing_pin = std::uint64_t{pin} * lapse;
}

} // namespace umadvisor::observe
