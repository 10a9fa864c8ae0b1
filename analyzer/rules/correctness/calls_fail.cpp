/// Calls that fail: what a program does not look at, and what makes all other advice idle.
#include "analyzer/rules/allocation/locked_memory.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/hazards.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace umadvisor::rules {
namespace {

struct Error {
    std::uint64_t status;
    std::string_view runtime, driver, words;
};

/// CUDA Runtime API, cudaError_t; CUDA Driver API, CUresult.
constexpr std::array errors{
    Error{1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "an invalid value"},
    Error{tables::out_of_memory, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    Error{3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "CUDA is not initialised"},
    Error{100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no device"},
    Error{101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    Error{201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "an invalid context"},
    Error{209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU",
          "the binary has no kernel code for this device"},
    Error{tables::system_call_failed, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",
          "a call of the operating system that failed"},
    Error{400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "an invalid handle"},
    Error{500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "a name that was not found"},
    Error{tables::illegal_address, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
          "an illegal memory access by a kernel"},
    Error{701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
          "a launch that needs more resources than the device has"},
    Error{702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel that ran too long"},
    Error{710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "an assertion that failed in a kernel"},
    Error{712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
          "host memory that is already registered"},
    Error{713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
          "host memory that is not registered"},
    Error{716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS",
          "a misaligned address in a kernel"},
    Error{719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "a kernel that died"},
    Error{tables::not_permitted, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED",
          "a call that is not permitted here"},
    Error{801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "an operation that is not supported here"},
    Error{900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
          "a call that is not allowed while a stream is captured"},
    Error{901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
          "a capture that an earlier error invalidated"},
};

std::string error_text(const Profile& profile, std::uint64_t status) {
    const auto* const known = std::ranges::find(errors, status, &Error::status);
    if (known == errors.end())
        return fmt::format("error {}", status);
    return fmt::format("{} ({})", known->words, profile.uses_runtime() ? known->runtime : known->driver);
}

/// Whether a failure is harmless: of a query, or of a call that frees what is already gone when a library is
/// unloaded.
bool may_fail(std::string_view entry) {
    constexpr std::array<std::string_view, 8> parts{
        "Query",    "Unload",          "Release", "PointerGetAttribute",
        "GetFlags", "GetAddressRange", "CtxGet",  "EnablePeerAccess"};
    return std::ranges::any_of(parts, [&](std::string_view part) { return entry.find(part) != entry.npos; });
}

/// Whether the call would only have released something: results and times of the program do not depend on it.
bool releases(std::string_view entry) {
    constexpr std::array<std::string_view, 8> calls{
        "cuMemFree",      "cuMemHostUnregister",     "cuStreamDestroy",  "cuEventDestroy",
        "cuArrayDestroy", "cuMipmappedArrayDestroy", "cuMemPoolDestroy", "cuModuleUnload"};
    return std::ranges::any_of(calls, [&](std::string_view call) { return entry.starts_with(call); });
}

struct FailedLine {
    std::uint64_t count = 0, answered = 0, entry = 0;
    bool only_releases = true; ///< its calls
    const tables::FailedTotals* first = nullptr;
    std::set<ids::StackId> ended_by; ///< lines of the calls that ended the captures; 0: not known
};

/// The key is line and status.
using FailedLines = std::map<std::pair<ids::StackId, std::uint64_t>, FailedLine>;

/// The line whose forbidden call ended each capture that fails at `line`; nullptr: none is known to have.
const FailedLine* cause_of(const FailedLines& lines, std::uint64_t status, const FailedLine& line) {
    if (status != tables::capture_ended || line.ended_by.size() != 1)
        return nullptr;
    const auto cause = lines.find({*line.ended_by.begin(), tables::capture_forbids});
    return cause == lines.end() ? nullptr : &cause->second;
}

/// Adds the calls at other lines that fail because of `line`: one finding reports the cause and its followers.
void add_followers(const Profile& profile, const FailedLines& lines, const FailedLine& line, Finding& finding) {
    std::uint64_t calls = 0;
    for (const auto& [key, other] : lines)
        if (cause_of(lines, key.second, other) == &line) {
            calls += other.count;
            finding.places.emplace_back(fmt::format("{} fails here because of it, {}",
                                                    profile.call_name(other.entry),
                                                    count_text(other.count, "time")),
                                        key.first);
        }
    if (calls == 0)
        return;
    finding.summary += fmt::format("; this invalidates the capture, and {} failed because of it",
                                   count_text(calls, "later call"));
    for (auto& [name, value] : finding.evidence)
        if (name == "failed_after")
            value += static_cast<double>(calls);
}

/// What one line held.
struct Holder {
    ids::StackId stack{};
    std::uint64_t count = 0, bytes = 0;
    std::uint64_t idle_bytes = 0, idle_ticks = 0; ///< of it, what nothing uses any more
    std::string what;
};

/// Largest first.
std::vector<Holder> holders_of(const Profile& profile, const LineOf& line_of,
                               const tables::FailedTotals& first) {
    std::map<std::pair<ids::StackId, std::string>, Holder> lines;
    for (const tables::Holding& holding : *first.holdings) {
        const ids::AllocationSite& site = holding.site;
        std::string what = site.symbol != 0
                               ? fmt::format("variable {}", profile.dictionary().string(site.symbol))
                               : profile.call_name(site.entry);
        if (site.memory == trace::Memory::managed)
            what += ", managed";
        const ids::StackId stack = line_of(site.stack);
        Holder& holder = lines[{stack, what}];
        holder.stack = stack;
        holder.what = what;
        holder.count += holding.count;
        holder.bytes += holding.bytes;
    }
    if (!memory_use_is_unknown(profile))
        for (const tables::IdleHolding& idle : first.idle)
            if (const auto found = lines.find({line_of(idle.stack), profile.call_name(idle.entry)});
                found != lines.end()) {
                Holder& holder = found->second;
                holder.idle_ticks =
                    holder.idle_bytes == 0 ? idle.ticks : std::min(holder.idle_ticks, idle.ticks);
                holder.idle_bytes += idle.bytes;
            }
    std::vector<Holder> all;
    for (auto& [key, holder] : lines)
        all.push_back(std::move(holder));
    std::ranges::stable_sort(all, std::greater(), &Holder::bytes);
    return all;
}

/// Adds the limits that stand beside what was locked. Whether one of them was the cause, the trace does not
/// show.
void add_limits(const Profile& profile, std::uint64_t held, std::uint64_t bytes, Finding& finding) {
    const auto [locked, memory] = lock_limits(profile);
    if (memory) {
        finding.details.push_back(fmt::format(
            "the control groups of the process allow {} of memory, other memory of the host included",
            bytes_text(*memory)));
        finding.evidence.emplace_back("memory_limit_bytes", static_cast<double>(*memory));
    }
    if (locked && held <= *locked && bytes > *locked - held) { // what was exceeded before does not limit it
        finding.details.push_back(fmt::format("RLIMIT_MEMLOCK is {}", bytes_text(*locked)));
        finding.evidence.emplace_back("lock_limit_bytes", static_cast<double>(*locked));
    }
}

/// Which lines held the memory when it ran out. A trace does not show what contexts and other processes held.
void add_holders(const Profile& profile, const LineOf& line_of, const tables::FailedTotals& first,
                 Finding& finding) {
    std::uint64_t held = 0, managed = 0;
    for (const tables::Holding& holding : *first.holdings) {
        held += holding.bytes;
        managed += holding.site.memory == trace::Memory::managed ? holding.bytes : 0;
    }
    std::uint64_t idle = 0;
    for (const Holder& holder : holders_of(profile, line_of, first)) {
        idle += holder.idle_bytes;
        finding.places.emplace_back(
            fmt::format("held {} then: {}, {}{}", bytes_text(holder.bytes), holder.what,
                        count_text(holder.count, "allocation"),
                        holder.idle_bytes == 0
                            ? ""
                            : fmt::format("; {} of it not used for {}", bytes_text(holder.idle_bytes),
                                          time_text(profile.nanoseconds(holder.idle_ticks)))),
            holder.stack);
    }
    const auto& devices = profile.dictionary().devices;
    std::string text = fmt::format("the program held {}{}", held == 0 ? "nothing" : bytes_text(held),
                                   first.of_host ? " of page-locked memory then" : " then");
    if (managed != 0)
        text += fmt::format(", {} of it managed, which may be on the host", bytes_text(managed));
    if (!first.of_host && devices.size() == 1)
        text += "; the device has " + bytes_text(devices.front().memory_bytes);
    else if (!first.of_host && devices.size() > 1)
        text += ", on all devices together";
    finding.details.push_back(text);
    finding.evidence.insert(finding.evidence.end(), {{"held_bytes", static_cast<double>(held)},
                                                     {"held_managed_bytes", static_cast<double>(managed)},
                                                     {"held_idle_bytes", static_cast<double>(idle)}});
    if (first.of_host)
        add_limits(profile, held, first.bytes, finding);
    if (first.of_host || devices.size() != 1 || first.bytes == 0 || devices.front().memory_bytes == 0)
        return;
    const std::uint64_t all = devices.front().memory_bytes, own = held - managed;
    if (first.bytes > all)
        finding.details.push_back("it is larger than the device's whole memory");
    else if (first.bytes <= all - std::min(all, own))
        finding.details.push_back("the device is large enough for what it held and this allocation together "
                                  "(managed memory excluded): the rest belongs to the driver, to pools or to "
                                  "other processes, or the free memory is fragmented");
}

/// Remedies for the failure; they depend on which kinds of memory the program held.
std::string oom_advice(const Profile& profile, const tables::FailedTotals& first, const Finding& finding) {
    const auto& devices = profile.dictionary().devices;
    if (!first.of_host && devices.size() == 1 && devices.front().memory_bytes != 0 &&
        first.bytes > devices.front().memory_bytes)
        return fmt::format("check what the call returns, and process the data in smaller parts; or use managed "
                           "memory ({}), which may exceed the device's memory",
                           profile.uses_runtime() ? "cudaMallocManaged" : "cuMemAllocManaged");
    const auto idle =
        std::ranges::find(finding.evidence, "held_idle_bytes", &std::pair<std::string_view, double>::first);
    std::string text = "check what the call returns, and free memory that is no longer needed before it";
    if (first.of_host)
        return text +
               ", or page-lock only what copies need at the same time, and use pageable memory for the rest";
    if (idle != finding.evidence.end() && idle->second != 0)
        text += fmt::format(" ({} had been used and were idle)", bytes_text(idle->second));
    return text + ", or process the data in smaller parts; umadvisor run --act rewrite=spill lets the program "
                  "continue with managed memory";
}

/// What to do where a capture forbids a call, or had ended before it. Adds the lines that the trace has.
std::string capture_advice(const Profile& profile, const LineOf& line_of, std::uint64_t status,
                           const tables::FailedTotals& first, Finding& finding) {
    const bool ended = status == tables::capture_ended;
    const ids::CallSite& other = ended ? first.ended_by : first.capture;
    if (other.stack.known())
        finding.places.emplace_back((ended ? "ended by this call: " : "captured from here on: ") +
                                        profile.call_name(other.entry),
                                    line_of(other.stack));
    if (ended)
        return "fix the call that invalidated the capture: it failed before this one; then capture again";
    const std::string mode =
        profile.uses_runtime() ? "cudaStreamCaptureModeThreadLocal" : "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL";
    if (first.of_other_thread)
        return fmt::format("begin the capture with {}: in the global mode no thread may allocate, wait or "
                           "query during a capture; or make this call before the capture begins",
                           mode);
    return fmt::format("allocate, wait and query before the capture begins or after it ends{}",
                       first.capture.stack.known() ? ""
                                                   : "; if another thread captures, let it begin with " + mode);
}

/// Where the program queues host functions, the call may stand in one. Adds the line.
std::string host_function_advice(const Profile& profile, const LineOf& line_of, const ids::CallSite& queued,
                                 Finding& finding) {
    const std::string call = profile.call_name(queued.entry);
    finding.details.push_back(
        "no call of CUDA is permitted in a host function, which a stream calls; some fail so, "
        "others wait for ever");
    finding.places.emplace_back(call + ": a host function is queued here", line_of(queued.stack));
    return fmt::format(
        "if it stands in a host function ({}), make the call outside: let the function set a flag or notify a "
        "condition variable that a thread of yours waits for; or queue the work itself behind an event, or as "
        "a node of a graph",
        call);
}

/// A kernel's illegal access may be that to memory which was freed before the kernel had ended. Adds the lines.
void add_frees(const Profile& profile, const LineOf& line_of, Finding& finding) {
    if (work_is_unknown(profile) || memory_use_is_unknown(profile) ||
        !profile.trace().file.completeness().whole())
        return;
    for (const auto& [site, totals] : profile.counted<Hazards>().unproved_frees()) {
        finding.places.emplace_back(fmt::format("freed while {} may still have used it, {}",
                                                kernels_text(profile, {totals.first_kernel}),
                                                count_text(totals.times, "time")),
                                    line_of(site.second.stack));
        finding.places.emplace_back("the launch of that kernel", line_of(site.first.stack));
        finding.advice = "make the free wait for the kernel (free on the kernel's stream, or wait for an event "
                         "recorded after it)";
    }
}

/// "cudaMemcpy from a null pointer"
std::string call_text(const Profile& profile, const FailedLine& line) {
    const tables::FailedTotals& first = *line.first;
    return fmt::format(
        "{}{}{}{}", profile.call_name(line.entry), first.bytes == 0 ? "" : " of " + bytes_text(first.bytes),
        first.from_null ? " from a null pointer" : "", first.to_null ? " to a null pointer" : "");
}

Finding describe(const Profile& profile, const LineOf& line_of, ids::StackId stack, std::uint64_t status,
                 const FailedLine& line) {
    const tables::FailureSite* const fatal = profile.failed_calls().fatal();
    const bool ends_all = fatal != nullptr && fatal->status == status;
    const std::uint64_t after = ends_all ? profile.failed_calls().after_fatal() : 0;
    Finding finding;
    finding.rule = &uma_701;
    finding.title = finding.rule->title;
    finding.stack = stack;
    const tables::FailedTotals& first = *line.first;
    finding.summary = fmt::format("{} fails, {}: {}", call_text(profile, line), count_text(line.count, "time"),
                                  error_text(profile, status));
    if (after != 0)
        finding.summary += fmt::format("; {} after it failed, too", count_text(after, "call"));
    finding.evidence = {{"failed", static_cast<double>(line.count)},
                        {"status", static_cast<double>(status)},
                        {"failed_after", static_cast<double>(after)}};
    if (ends_all)
        finding.details.push_back(
            "this error destroys the context: all other advice is about the time before it");
    finding.advice = ends_all ? "run the program under compute-sanitizer, and check what each call returns"
                              : "check what the call returns, and correct its arguments or remove it";
    if (ends_all && status == tables::illegal_address)
        add_frees(profile, line_of, finding);
    if (status == tables::out_of_memory || first.holdings) {
        finding.evidence.emplace_back("bytes", static_cast<double>(first.bytes));
        if (first.holdings)
            add_holders(profile, line_of, first, finding);
        finding.advice = oom_advice(profile, first, finding);
    }
    if (status == tables::capture_forbids || status == tables::capture_ended)
        finding.advice = capture_advice(profile, line_of, status, first, finding);
    if (status == tables::not_permitted && first.host_function.stack.known())
        finding.advice = host_function_advice(profile, line_of, first.host_function, finding);
    finding.basis = "fixes an error; no time is saved";
    finding.harmless =
        line.only_releases && !ends_all && status != tables::capture_forbids && status != tables::capture_ended;
    finding.confidence = Confidence::high;
    return finding;
}

} // namespace

std::vector<Finding> find_calls_fail(const Profile& profile, const LineOf& line_of) {
    FailedLines lines;
    for (const auto& [site, totals] : profile.failed_calls().sites()) {
        if (may_fail(profile.dictionary().symbol(site.site.entry)))
            continue;
        FailedLine& line = lines[{line_of(site.site.stack), site.status}];
        line.count += totals.count;
        line.answered += totals.answered;
        line.only_releases &= releases(profile.dictionary().symbol(site.site.entry));
        line.ended_by.insert(line_of(totals.ended_by.stack));
        if (line.first == nullptr || totals.start < line.first->start) {
            line.first = &totals;
            line.entry = site.site.entry;
        }
    }
    struct Found {
        std::uint64_t start;
        std::string call, error;
        std::uint64_t count;
        Finding finding;
    };
    std::vector<Found> found;
    for (const auto& [key, line] : lines)
        if (line.answered < line.count && // else the program got its memory
            cause_of(lines, key.second, line) == nullptr) {
            found.push_back({line.first->start, call_text(profile, line), error_text(profile, key.second),
                             line.count, describe(profile, line_of, key.first, key.second, line)});
            add_followers(profile, lines, line, found.back().finding);
        }
    std::ranges::sort(found, {}, &Found::start);
    // Calls that fail in the same way are one finding, at the first of their lines, unless there is more to say
    // of each.
    std::vector<Finding> findings;
    std::map<std::pair<std::string, std::string>, std::size_t>
        alike; // by call and error: its place in `findings`
    std::vector<std::uint64_t> counts;
    for (Found& each : found) {
        const bool plain = each.finding.details.empty() && each.finding.places.empty();
        const auto [group, first] =
            plain ? alike.try_emplace({each.call, each.error}, findings.size()) : std::pair{alike.end(), true};
        if (first) {
            findings.push_back(std::move(each.finding));
            counts.push_back(each.count);
            continue;
        }
        Finding& larger = findings[group->second];
        const std::uint64_t count = counts[group->second] += each.count;
        larger.places.emplace_back("fails here, too", each.finding.stack);
        larger.evidence.front().second = static_cast<double>(count);
        larger.summary = fmt::format("{} of {} fail, at {}: {}", count_text(count, "call"), each.call,
                                     count_text(larger.places.size() + 1, "line"), each.error);
    }
    return findings;
}

constinit const Rule uma_701{.id = "UMA-701",
                             .name = "calls-fail",
                             .title = "calls fail",
                             .find = &find_calls_fail,
                             .urgency = Urgency::calls_fail};

} // namespace umadvisor::rules
