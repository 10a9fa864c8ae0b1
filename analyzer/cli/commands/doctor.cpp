#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/left_segments.hpp"
#include "analyzer/cli/run/recording_trial.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/cli/usual_rates.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/rules/words.hpp"
#include "residency/cupti_interface.hpp"
#include "residency/driver_branches.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <set>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

constexpr int usual_patience = 60; ///< seconds: a driver takes several to wake up eight devices

enum class Mark { yes, part, no, note };

/// The lines of one examination.
class Findings {
public:
    void add(Mark mark, std::string_view what, const std::string& text) {
        constexpr std::string_view marks[] = {"ok  ", "part", "no  ", "note"};
        text_.stream() << marks[static_cast<int>(mark)] << "  " << std::left << std::setw(16) << what << text
                       << "\n";
        can_record_ &= mark != Mark::no;
    }
    bool can_record() const { return can_record_; }
    /// Adds a line that says what prevents recording, or that nothing does.
    bool print() {
        text_.stream() << "\n"
                       << (can_record_ ? "umadvisor run -- PROGRAM will work here."
                                       : "umadvisor run -- PROGRAM will not work here: the lines marked \"no\" "
                                         "say why. Traces from elsewhere can be reported on.")
                       << "\n";
        text_.print(std::cout);
        return can_record_;
    }

private:
    text::TerminalText text_{{}};
    bool can_record_ = true;
};

std::string loaded_path(void* handle, const char* symbol) {
    Dl_info info{};
    void* address = ::dlsym(handle, symbol);
    return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fname : "";
}

/// First of the names that the loader finds, or empty. It stays loaded: a doctor does not live long.
std::string find_library(const std::vector<std::string>& names, const char* symbol) {
    for (const std::string& name : names)
        if (void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL))
            return loaded_path(handle, symbol);
    return {};
}

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void look_at_device(Findings& findings, const ProbedDevice& device) {
    std::string text = fmt::format("{}, compute {}.{}: ", device.name, device.major, device.minor);
    if (device.prohibited)
        text += "its compute mode allows no program; nvidia-smi -c 0 changes that";
    else if (!device.managed)
        text += "no managed memory; copies are recorded";
    else if (!device.concurrent)
        text += "managed memory without concurrent access: no prefetch, --act does nothing here";
    else
        text += "managed memory, prefetch and advice";
    if (device.mode != machine::MemoryMode::discrete)
        text += fmt::format("; {}", machine::text(device.mode));
    findings.add(device.concurrent && !device.prohibited ? Mark::yes : Mark::part,
                 fmt::format("device {}", device.ordinal), text);
}

/// Names the advice and the modes of --act that are wrong for a device without PCIe.
void look_at_memory_mode(Findings& findings, machine::MemoryMode mode) {
    constexpr std::string_view what = "memory mode";
    switch (mode) {
    case machine::MemoryMode::undecided:
    case machine::MemoryMode::discrete:
        return;
    case machine::MemoryMode::hmm:
        return findings.add(
            Mark::note, what,
            "kernels reach pageable memory by page faults (HMM). A program that takes more than the "
            "device holds has hung machines (open-gpu-kernel-modules issue 1223), and --act rewrite "
            "lets programs take more; the parameter uvm_disable_hmm=1 of nvidia-uvm turns HMM off");
    case machine::MemoryMode::coherent_numa:
    case machine::MemoryMode::coherent_cdmm:
        return findings.add(
            Mark::note, what,
            fmt::format("{}. --act stage and rewrite gain nothing and are refused (rewrite=spill works)",
                        mode == machine::MemoryMode::coherent_numa
                            ? fmt::format("the device's memory is a NUMA node, and hardware reaches all "
                                          "memory. Pageable memory lies where it is touched first, until the "
                                          "driver moves what kernels read often; the system's pages have {} "
                                          "KiB, and larger ones take fewer faults where kernels touch it first",
                                          ::sysconf(_SC_PAGESIZE) / 1024)
                            : "pageable memory stays on the host (CDMM): kernels reach it across the link, and "
                              "a prefetch of it does nothing"));
    case machine::MemoryMode::one_pool:
        return findings.add(Mark::note, what,
                            "host and device share one memory: nothing has to move, --act is refused, and "
                            "copies between both are waste");
    }
}

void look_at_driver(Findings& findings, const DriverProbe& driver) {
    constexpr int oldest = 11040;
    if (!driver.trouble.empty())
        return findings.add(Mark::no, "driver",
                            driver.trouble +
                                ". Without a GPU, programs can be tried on simcuda, a simulated driver: "
                                "build with tools/quickstart and put build/release/lib/simcuda into "
                                "LD_LIBRARY_PATH");
    const std::string text = fmt::format("{}, CUDA {}", driver.path, version_text(driver.version));
    if (driver.version < oldest)
        findings.add(Mark::part, "driver",
                     fmt::format("{}: umadvisor is for drivers from CUDA {} on", text, version_text(oldest)));
    else
        findings.add(Mark::yes, "driver", text);
    std::set<machine::MemoryMode> modes;
    for (const ProbedDevice& device : driver.devices) {
        look_at_device(findings, device);
        modes.insert(device.mode);
    }
    for (const machine::MemoryMode mode : modes)
        look_at_memory_mode(findings, mode);
    if (driver.devices.empty())
        findings.add(Mark::no, "device", "none: " + refusal_text(100, "the driver counts none", ""));
}

/// What the loader said when it left the shim out.
std::string preload_trouble(const DriverTrial& trial) {
    std::string text = trial.words.empty() ? "the loader skipped the shim without a message" : trial.words;
    return text + (text.find("GLIBC_") != std::string::npos
                       ? "; it was built for a newer glibc than this system has: install the package"
                       : "; install libumadvisor.so and umadvisor of one build, and unset LD_PRELOAD");
}

/// With `driver` asked, as a program that runs alone asks it.
void look_at_recording(Findings& findings, const RecordingTrial& trial, const DriverProbe& driver) {
    if (trial.tried && trial.driver.cut_short) // the loader did not cause that
        return findings.add(Mark::no, "preload", trial.trouble);
    if (trial.tried && !trial.driver.preloaded)
        return findings.add(Mark::no, "preload", preload_trouble(trial.driver));
    if (trial.tried)
        findings.add(Mark::yes, "preload", "works");
    if (!trial.tried)
        findings.add(Mark::no, "recording", "not tried: " + trial.trouble);
    else if (trial.trouble.empty())
        findings.add(Mark::yes, "recording", "a preloaded process called cuInit and left a trace");
    else if (driver.trouble.empty()) // else that is what is in the way
        findings.add(Mark::no, "recording", "the driver works without umadvisor, but: " + trial.trouble);
}

/// `output`: what UMADVISOR_OUTPUT says.
void look_at_output(Findings& findings, const std::string& output) {
    std::error_code failed;
    const std::string here = std::filesystem::current_path(failed).string();
    const std::string place = output.empty() && !failed ? here + "/PROGRAM.PID.umtrace" : output;
    if (const std::string trouble = output_trouble(place, true); !trouble.empty())
        findings.add(Mark::no, "traces",
                     trouble + (output.empty() ? " or UMADVISOR_OUTPUT" : "; UMADVISOR_OUTPUT names this one"));
    else
        findings.add(Mark::yes, "traces",
                     output.empty() ? "are written to the working directory, " + here
                                    : fmt::format("are written to {}, as UMADVISOR_OUTPUT says", output));
}

#if defined(__aarch64__)
void look_at_unwinder(Findings& findings, const std::string&) {
    findings.add(Mark::yes, "call stacks", "by frame pointers");
}
#else
void look_at_unwinder(Findings& findings, const std::string& shim) {
    const std::string beside = (std::filesystem::path(shim).parent_path() / "libunwind.so.8").string();
    const std::string found = find_library({beside, "libunwind.so.8"}, "unw_backtrace");
    if (found.empty())
        findings.add(Mark::part, "call stacks",
                     "libunwind.so.8 is not found: calls are recorded without stacks, advice without lines; "
                     "install libunwind8 (Debian, Ubuntu) or libunwind (Fedora)");
    else
        findings.add(Mark::yes, "call stacks", found);
}
#endif

void look_at_residency(Findings& findings) {
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0)
        findings.add(Mark::part, "residency",
                     fmt::format("/proc/self/pagemap: {}; where managed memory is cannot be sampled; mount "
                                 "/proc, or let this process read it",
                                 std::strerror(errno)));
    else
        findings.add(Mark::yes, "residency", "sampled from /proc/self/pagemap");
    if (pagemap >= 0)
        ::close(pagemap);
}

/// A killed program leaves its last records in shared memory. They stay there until its trace is read; if the
/// trace is gone, they stay for good.
void look_at_left_segments(Findings& findings) {
    const std::vector<LeftSegment> left = left_segments();
    if (left.empty())
        return;
    std::uint64_t bytes = 0;
    std::string ids;
    constexpr std::size_t most_ids = 16;
    for (std::size_t i = 0; i < left.size(); ++i) {
        bytes += left[i].bytes;
        if (i < most_ids) // the latest
            ids += fmt::format(" -m {}", left[i].id);
    }
    if (left.size() > most_ids)
        ids += fmt::format(", and {} more (ipcs -m)", left.size() - most_ids);
    findings.add(Mark::note, "memory",
                 fmt::format("{} of programs that were killed {} left ({}): read their traces (umadvisor "
                             "report); where those are gone: ipcrm{}",
                             text::count_text(left.size(), "segment"), left.size() == 1 ? "is" : "are",
                             text::bytes_text(bytes), ids));
}

std::string driver_release() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string release;
    std::getline(file, release);
    return release;
}

/// The driver reports faults and migrations one by one in its tools queue; without it residency is sampled.
void look_at_queue(Findings& findings, bool simulated) {
    if (simulated)
        return findings.add(Mark::yes, "tools queue", "simcuda's own");
    constexpr const char* file = "/dev/nvidia-uvm-tools";
    const int device = ::open(file, O_RDWR | O_CLOEXEC);
    if (device < 0) {
        const bool missing = errno == ENOENT;
        return findings.add(
            Mark::part, "tools queue",
            fmt::format(
                "{}: {}; residency is sampled instead; {}", file, std::strerror(errno),
                missing ? fmt::format("nvidia-modprobe -u -c 0 creates it, a container needs --device {}", file)
                        : "this user, or this container, may not open it"));
    }
    ::close(device);
    const std::string release = driver_release();
    const residency::ToolsQueue known = residency::branch_of(release).queue;
    if (known == residency::ToolsQueue::tested)
        return findings.add(Mark::yes, "tools queue", fmt::format("{}, driver {}", file, release));
    findings.add(Mark::part, "tools queue",
                 fmt::format("not tested with driver {}{}; residency is sampled instead; umadvisor run --um "
                             "queue uses it anyway",
                             release.empty() ? "?" : release,
                             known == residency::ToolsQueue::read
                                 ? ", whose source has the layouts of tested ones"
                                 : ""));
}

std::string use_of(const std::string& cupti) {
    void* const library = ::dlopen(cupti.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const auto get = library == nullptr
                         ? nullptr
                         : reinterpret_cast<int (*)(std::uint32_t*)>(::dlsym(library, "cuptiGetVersion"));
    std::uint32_t version = 0;
    if (get == nullptr || get(&version) != 0)
        return "its version is unknown";
    return residency::cupti::knows(version) ? "with --um cupti no other profiler can use CUPTI at the same time"
                                            : "--um cupti does not know its records, and is refused";
}

void look_at_cupti(Findings& findings, const std::string& shim) {
    namespace known = residency::cupti;
    std::vector<std::string> names(std::begin(known::names), std::end(known::names));
    names.push_back((std::filesystem::path(shim).parent_path() / known::bundled).string());
    names.insert(names.end(), std::begin(known::places), std::end(known::places));
    const std::string cupti = find_library(names, "cuptiGetVersion");
    if (cupti.empty())
        findings.add(Mark::part, "CUPTI",
                     "not found: umadvisor run --um cupti will not work; nothing else needs it");
    else
        findings.add(Mark::yes, "CUPTI", fmt::format("{}; not used by default; {}", cupti, use_of(cupti)));
}

void look_at_rates(Findings& findings, const DriverProbe& driver) {
    for (const ProbedDevice& device : driver.devices) {
        try {
            if (!usual_rates(device.name).device.empty())
                return findings.add(Mark::yes, "estimates", usual_rates_file() + ", of " + device.name);
        } catch (const reader::Error& error) {
            return findings.add(Mark::part, "estimates", error.what());
        }
    }
    const bool pcie = std::ranges::all_of(driver.devices, machine::behind_pcie, &ProbedDevice::mode);
    findings.add(Mark::part, "estimates",
                 fmt::format("this machine is not calibrated: {}; the first run calibrates it, or umadvisor "
                             "calibrate does so now, in seconds",
                             pcie ? "what a trace does not measure is estimated with an H200's figures"
                                  : "savings that depend on the speed of its link are not reported"));
}

/// Unsets variables that would change the trials; doctor looks separately at what the user set for programs.
void clear_settings() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (const std::string_view text(*entry); text.starts_with("UMADVISOR_"))
            names.emplace_back(text.substr(0, text.find('=')));
    for (const std::string& name : names)
        ::unsetenv(name.c_str());
}

int examine(std::chrono::seconds allowed) {
    const char* const given = std::getenv("UMADVISOR_OUTPUT");
    const std::string output = given == nullptr ? "" : given;
    clear_settings();
    Findings findings;
    const std::string shim = find_shim();
    const std::string trouble = shim_trouble(shim);
    findings.add(trouble.empty() ? Mark::yes : Mark::no, "shim", trouble.empty() ? shim : trouble);
    const DriverProbe driver = try_driver(allowed).probe;
    bool simulated = false;
    if (trouble.empty()) {
        const RecordingTrial trial = try_recording(shim, allowed);
        simulated = trial.simulated;
        look_at_recording(findings, trial, driver);
    }
    look_at_driver(findings, driver);
    look_at_output(findings, output);
    look_at_unwinder(findings, shim);
    look_at_residency(findings);
    if (driver.trouble.empty()) {
        look_at_queue(findings, simulated);
        look_at_rates(findings, driver);
    }
    look_at_cupti(findings, shim);
    look_at_left_segments(findings);
    return findings.print() ? done : operational_error;
}

int doctor(const Arguments& arguments) {
    if (arguments.has(std::string(trial_flag)))
        return run_trial_program(find_shim());
    int allowed = usual_patience;
    if (const std::string text = arguments.value("--timeout"); arguments.has("--timeout")) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), allowed);
        if (error != std::errc() || end != text.data() + text.size() || allowed <= 0) {
            say("--timeout takes a number of seconds from 1, not " + text);
            return usage_error;
        }
    }
    return examine(std::chrono::seconds(allowed));
}

} // namespace

const Command doctor_command{
    "doctor",
    "Say what will work on this machine, and try to record a program",
    "",
    0,
    0,
    {{"--timeout", "SECONDS", "Seconds that the driver may take to answer; default: 60"}, {trial_flag, "", ""}},
    &doctor};

} // namespace umadvisor::cli
