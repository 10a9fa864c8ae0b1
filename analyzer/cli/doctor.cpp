#include "analyzer/cli/command.hpp"
#include "analyzer/cli/driver_probe.hpp"
#include "analyzer/cli/launcher.hpp"
#include "analyzer/cli/shim.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

enum class Mark { yes, no, part };

void tell(Mark mark, std::string_view what, const std::string& text) {
    constexpr std::string_view marks[] = {"ok  ", "no  ", "part"};
    std::cout << marks[static_cast<int>(mark)] << "  " << std::left << std::setw(16) << what << text << "\n";
}

std::string loaded_path(void* handle, const char* symbol) {
    Dl_info info{};
    void* address = ::dlsym(handle, symbol);
    return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fname : "";
}

/// First of the names that the loader finds, or empty. It stays loaded: a doctor does not live long.
std::string find_library(std::initializer_list<const char*> names, const char* symbol) {
    for (const char* name : names)
        if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL))
            return loaded_path(handle, symbol);
    return {};
}

bool check_shim() {
    const std::string shim = find_shim();
    if (shim.empty()) {
        tell(Mark::no, "shim", "libumadvisor.so is not in ../lib beside this binary");
        return false;
    }
    tell(Mark::yes, "shim", shim);
    // The loader only warns when it cannot preload, so ask it to resolve everything first.
    void* handle = ::dlopen(shim.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        tell(Mark::no, "preload", ::dlerror());
        return false;
    }
    const int status = run_program("/bin/true", {"true"}, {{"LD_PRELOAD", shim}, {"UMADVISOR_QUIET", "1"}});
    tell(status == 0 ? Mark::yes : Mark::no, "preload",
         status == 0 ? "works" : "a preloaded program ended with status " + std::to_string(status));
    return status == 0;
}

bool check_driver() {
    const DriverProbe probe = probe_driver();
    if (!probe.trouble.empty()) {
        tell(Mark::no, "driver", probe.trouble);
        return false;
    }
    tell(Mark::yes, "driver",
         probe.path + ", CUDA " + std::to_string(probe.version / 1000) + "." +
             std::to_string(probe.version % 1000 / 10));
    for (const ProbedDevice& device : probe.devices) {
        std::string text = device.name + ", compute " + std::to_string(device.major) + "." +
                           std::to_string(device.minor) + ": ";
        if (!device.managed)
            text += "no managed memory; copies are recorded";
        else if (!device.concurrent)
            text += "managed memory without concurrent access: no prefetch, --act does nothing here";
        else
            text += "managed memory, prefetch and advice";
        if (device.pageable)
            text += "; reaches pageable memory too";
        tell(device.concurrent ? Mark::yes : Mark::part, "device " + std::to_string(device.ordinal), text);
    }
    if (probe.devices.empty())
        tell(Mark::no, "device", "none");
    return !probe.devices.empty();
}

void check_sources() {
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    tell(pagemap >= 0 ? Mark::yes : Mark::no, "residency",
         pagemap >= 0 ? "sampled from /proc/self/pagemap"
                      : "/proc/self/pagemap cannot be opened: ping-pong and first touch are not seen");
    if (pagemap >= 0)
        ::close(pagemap);
    const std::string unwind = find_library({"libunwind.so.8"}, "_Ux86_64_getcontext");
    const bool beside =
        std::filesystem::exists(std::filesystem::path(find_shim()).parent_path() / "libunwind.so.8");
    const bool found =
        !unwind.empty() || beside || ::dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL) != nullptr;
    tell(found ? Mark::yes : Mark::part, "libunwind",
         found ? (unwind.empty() ? std::string("found") : unwind)
               : "libunwind.so.8 is not found: calls are recorded without stacks, advice without lines");
    const std::string cupti = find_library(
        {"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
        "cuptiGetVersion");
    tell(cupti.empty() ? Mark::part : Mark::yes, "CUPTI",
         cupti.empty() ? "not found; not needed" : cupti + "; not used by default");
}

int doctor(const Arguments&) {
    const bool shim = check_shim();
    const bool driver = check_driver();
    check_sources();
    std::cout << "\n"
              << (!shim ? "Nothing can be recorded here: see shim and preload above. Traces from elsewhere can "
                          "be reported on."
                  : !driver ? "No CUDA program can run here. Traces from elsewhere can be reported on."
                            : "umadvisor run -- PROGRAM will work here.")
              << "\n";
    return shim && driver ? done : operational_error;
}

} // namespace

const Command doctor_command{"doctor", "Say what will work on this machine", "", 0, 0, {}, &doctor};

} // namespace umadvisor::cli
