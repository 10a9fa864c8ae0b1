#include "analyzer/reports/weights.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace umadvisor::reports {
namespace {

struct Names {
    std::string_view option, words;
};
constexpr std::array<Names, std::size(weights)> names{{{"time", "time"},
                                                       {"copied", "bytes copied"},
                                                       {"pageable", "pageable bytes copied"},
                                                       {"allocated", "bytes allocated"},
                                                       {"faults", "page faults"}}};

using Sums = std::map<std::pair<ids::CallSite, std::uint64_t>, std::uint64_t>; ///< by site and kernel

constexpr std::string_view host_fault = "page fault", unknown_caller = "(caller not recorded)";

using CauseSums = std::map<std::pair<ids::CallSite, std::string_view>, double>; ///< by site and innermost frame

/// What a thread's calls and waits took, nanoseconds. The start of CUDA is not in it.
CauseSums call_times(const html::StackTimes& times, const html::Timeline& timeline) {
    using html::Cause;
    CauseSums sums;
    for (std::size_t name = 0; name < times.by_name().size(); ++name) {
        const html::Named& named = timeline.names[name];
        for (const Cause cause :
             {Cause::device_faults, Cause::kernels, Cause::copies, Cause::allocation, Cause::calls})
            if (const double ns = times.by_name()[name][static_cast<std::size_t>(cause)]; ns > 0)
                sums[{{named.stack, named.entry},
                      name == 0                       ? "(other stacks)"
                      : cause == Cause::kernels       ? "(waiting for kernels)"
                      : cause == Cause::device_faults ? "(page faults on the device)"
                                                      : ""}] += ns;
    }
    return sums;
}

/// All that the main thread did, and what the others did in calls; of ranges, only the calls inside.
std::vector<WeighedSite> thread_times(const rules::Profile& profile, const html::Timeline& timeline) {
    std::vector<WeighedSite> result;
    const bool ranges = profile.inside().has_value();
    const auto& threads = timeline.threads;
    const bool alone =
        std::ranges::count_if(threads, [](const auto& thread) { return thread != nullptr; }) == 1;
    for (std::size_t i = 0; i < threads.size(); ++i) {
        if (threads[i] == nullptr)
            continue;
        const html::StackTimes& times = threads[i]->times;
        const bool main = i == timeline.main;
        const CauseSums calls = call_times(times, timeline);
        const double code =
            times.by_name().empty() ? 0 : times.by_name()[0][static_cast<std::size_t>(html::Cause::code)];
        double sum = code;
        for (const auto& [key, ns] : calls)
            sum += ns;
        for (const auto& [frame, ns] : times.host_faults())
            sum += ns;
        const double scale = !main || ranges || sum <= 0 ? 1 : static_cast<double>(profile.net_ns()) / sum;
        const std::string thread = alone  ? std::string()
                                   : main ? "main thread"
                                          : fmt::format("thread {}", threads[i]->tid);
        double exact = 0; // each share is rounded so that their sum is right
        std::uint64_t given = 0;
        const auto add = [&](ids::CallSite site, double ns, std::string_view outer, std::string_view inner) {
            exact += ns * scale;
            const std::uint64_t until = reader::saturated(std::round(exact));
            if (until > given)
                result.push_back({site, 0, until - given, outer, inner, thread});
            given = std::max(given, until);
        };
        if (main && !ranges) {
            add({}, code, {}, "(host code)");
            for (const auto& [frame, ns] : times.host_faults())
                add({ids::StackId(frame), 0}, ns, unknown_caller, host_fault);
        }
        for (const auto& [key, ns] : calls)
            if (!ranges || (key.first.entry != 0 && !key.first.stack.outside()))
                add(key.first, ns, {}, key.second);
    }
    return result;
}

Sums bytes_copied(const rules::Profile& profile, bool pageable_only) {
    Sums sums;
    for (const auto& [site, totals] : profile.copies().sites())
        if (!pageable_only || site.source == trace::Memory::pageable ||
            site.destination == trace::Memory::pageable)
            sums[{site, 0}] += totals.small.bytes + totals.large.bytes;
    return sums;
}

Sums bytes_allocated(const rules::Profile& profile) {
    Sums sums;
    for (const auto& [site, totals] : profile.allocations().sites())
        sums[{site, 0}] += totals.bytes;
    return sums;
}

/// Where the host was when it faulted, and the launches of the kernels that did. Together these are the faults
/// of the run, as far as it is known whose they are.
Sums page_faults(const rules::Profile& profile) {
    using Kind = trace::ManagedEventKind;
    const managed::ManagedTotals& totals = profile.managed().totals();
    if (!totals.ever_recorded(Kind::host_fault) && !totals.ever_recorded(Kind::device_fault))
        throw reader::Error(profile.trace().file.path() +
                            ": has no fault counts; it shows where managed memory was, not what faulted it in");
    Sums sums;
    double exact = 0; // each share is rounded so that their sum is right
    std::uint64_t given = 0;
    const std::uint64_t most = totals.device_faults().value_or(UINT64_MAX);
    for (const auto& [memory, activity] : profile.managed().sites()) {
        for (const auto& [code, access] : activity.host_codes)
            reader::add_saturated(sums[{{ids::StackId(code), 0}, 0}], access.faults);
        for (const auto& [kernel, share] : activity.kernels.sites) {
            exact += share.faults * totals.device_faults_each();
            const std::uint64_t until = std::min(reader::saturated(std::round(exact)), most);
            reader::add_saturated(sums[{{kernel.stack, kernel.entry}, kernel.function}], until - given);
            given = until;
        }
    }
    return sums;
}

/// What the run had beyond `sums`.
void add_unknown_faults(const managed::ManagedTotals& totals, const Sums& sums,
                        std::vector<WeighedSite>& result) {
    std::uint64_t host = 0, device = 0;
    for (const auto& [site, sum] : sums)
        reader::add_saturated(site.first.entry == 0 ? host : device, sum);
    const auto add = [&result](std::uint64_t all, std::uint64_t known, bool of_device) {
        if (all > known)
            result.push_back(
                {{}, 0, all - known, of_device ? "(kernel not recorded)" : unknown_caller, host_fault, {}});
    };
    add(totals.host_faults().value_or(0), host, false);
    add(totals.device_faults().value_or(0), device, true);
}

Sums sums_of(const rules::Profile& profile, Weight weight) {
    switch (weight) {
    case Weight::time:
        break;
    case Weight::copied:
        return bytes_copied(profile, false);
    case Weight::pageable:
        return bytes_copied(profile, true);
    case Weight::allocated:
        return bytes_allocated(profile);
    case Weight::faults:
        return page_faults(profile);
    }
    return {};
}

} // namespace

std::string_view name(Weight weight) {
    return names[static_cast<std::size_t>(weight)].option;
}

std::string_view words(Weight weight) {
    return names[static_cast<std::size_t>(weight)].words;
}

std::string title(Weight weight) {
    return std::string(words(weight)) +
           (is_time(weight) ? " (device work counts where a thread waits for it)" : "");
}

std::vector<WeighedSite> weigh(const rules::Profile& profile, Weight weight, const html::Timeline* timeline) {
    if (timeline != nullptr && is_time(weight))
        return thread_times(profile, *timeline);
    std::vector<WeighedSite> result;
    const Sums sums = sums_of(profile, weight);
    for (const auto& [site, sum] : sums)
        if (sum != 0 && !site.first.stack.outside()) {
            const bool by_host = weight == Weight::faults && site.first.entry == 0;
            result.push_back({site.first,
                              site.second,
                              sum,
                              by_host ? unknown_caller : std::string_view(),
                              by_host ? host_fault : std::string_view(),
                              {}});
        }
    if (weight == Weight::faults)
        add_unknown_faults(profile.managed().totals(), sums, result);
    return result;
}

} // namespace umadvisor::reports
