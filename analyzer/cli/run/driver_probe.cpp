#include "analyzer/cli/run/driver_probe.hpp"

#include "analyzer/machine/device_calls.hpp"
#include "analyzer/reader/error.hpp"

#include <array>
#include <dlfcn.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

// The analyzer builds without CUDA's headers: prototypes and numbers as in cuda.h, stable since CUDA 8.
using Initialize = int (*)(unsigned);
using GetVersion = int (*)(int*);
using GetCount = int (*)(int*);
using GetDevice = int (*)(int*, int);
using GetName = int (*)(char*, int, int);
using GetAttribute = int (*)(int*, int, int);

enum Attribute : int {
    integrated = 18,
    compute_mode = 20,
    compute_major = 75,
    compute_minor = 76,
    managed_memory = 83,
    pageable_memory_access = 88,
    concurrent_managed_access = 89,
    pageable_uses_host_page_tables = 100,
    numa_config = 130,
};

constexpr int compute_mode_prohibited = 2;

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// As the shim records it: the value between quotation marks.
std::string coherent_memory_mode() {
    constexpr std::string_view key = "CoherentGPUMemoryMode:";
    std::ifstream file("/proc/driver/nvidia/params");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) {
            const std::size_t first = line.find('"'), last = line.rfind('"');
            return first == last ? std::string() : line.substr(first + 1, last - first - 1);
        }
    return {};
}

template <class Function>
Function function(void* driver, const char* name) {
    return reinterpret_cast<Function>(::dlsym(driver, name));
}

} // namespace

DriverProbe probe_driver() {
    DriverProbe probe;
    void* driver = nullptr;
    try {
        driver = machine::open_driver();
    } catch (const reader::Error& error) {
        probe.trouble = error.what();
        return probe;
    }
    const auto initialize = function<Initialize>(driver, "cuInit");
    const auto get_version = function<GetVersion>(driver, "cuDriverGetVersion");
    const auto get_count = function<GetCount>(driver, "cuDeviceGetCount");
    const auto get_device = function<GetDevice>(driver, "cuDeviceGet");
    const auto get_name = function<GetName>(driver, "cuDeviceGetName");
    const auto get_attribute = function<GetAttribute>(driver, "cuDeviceGetAttribute");
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(initialize), &info) != 0)
        probe.path = info.dli_fname;
    if (initialize == nullptr || get_version == nullptr || get_count == nullptr || get_device == nullptr ||
        get_name == nullptr || get_attribute == nullptr) {
        probe.trouble = probe.path + ": is not a CUDA driver; take its folder out of LD_LIBRARY_PATH";
        return probe;
    }
    get_version(&probe.version);
    if (const int status = initialize(0); status != 0) {
        probe.trouble = fmt::format("{}: cuInit returns {}", probe.path,
                                    refusal_text(status, machine::error_text(status, "cuGetErrorName"),
                                                 machine::error_text(status, "cuGetErrorString")));
        return probe;
    }
    const std::string release = first_line("/sys/module/nvidia/version"), mode = coherent_memory_mode();
    trace::Driver module;
    module.release = release;
    module.coherent_memory_mode = mode;
    int count = 0;
    get_count(&count);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        int device = 0;
        std::array<char, 256> name{};
        if (get_device(&device, ordinal) != 0 ||
            get_name(name.data(), static_cast<int>(name.size()) - 1, device) != 0)
            continue;
        const auto attribute = [&](Attribute which) {
            int value = 0;
            return get_attribute(&value, which, device) == 0 ? value : 0;
        };
        trace::Device answers;
        answers.addressing_told = 1;
        answers.integrated = attribute(integrated) != 0;
        answers.pageable_memory_access = attribute(pageable_memory_access) != 0;
        answers.pageable_uses_host_page_tables = attribute(pageable_uses_host_page_tables) != 0;
        int value = 0;
        if (get_attribute(&value, numa_config, device) == 0 && value >= 0)
            answers.numa_config = static_cast<std::uint64_t>(value) + 1;
        probe.devices.push_back({ordinal, attribute(compute_major), attribute(compute_minor), name.data(),
                                 attribute(managed_memory) != 0, attribute(concurrent_managed_access) != 0,
                                 answers.pageable_memory_access != 0,
                                 attribute(compute_mode) == compute_mode_prohibited,
                                 machine::memory_mode(answers, &module)});
    }
    return probe;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProbedDevice, ordinal, major, minor, name, managed, concurrent, pageable,
                                   prohibited, mode)

nlohmann::json to_json(const DriverProbe& probe) {
    return {{"trouble", probe.trouble},
            {"path", probe.path},
            {"version", probe.version},
            {"devices", probe.devices}};
}

DriverProbe probe_of(const nlohmann::json& document) {
    return {document.at("trouble"), document.at("path"), document.at("version"),
            document.at("devices").get<std::vector<ProbedDevice>>()};
}

} // namespace umadvisor::cli
