#include "analyzer/reports/weights.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/saturated.hpp"

#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace umadvisor::reports {
namespace {

struct Names {
    std::string_view option, words;
};
constexpr std::array<Names, std::size(weights)> names{{{"blocked", "time blocked"},
                                                       {"copied", "bytes copied"},
                                                       {"pageable", "pageable bytes copied"},
                                                       {"allocated", "bytes allocated"},
                                                       {"faults", "page faults"}}};

using Sums = std::map<std::pair<ids::CallSite, std::uint64_t>, std::uint64_t>; ///< by site and kernel

Sums time_blocked(const rules::Profile& profile) {
    Sums sums;
    for (const auto& [site, ticks] : profile.waits().ticks())
        sums[{site, 0}] = profile.nanoseconds(ticks);
    return sums;
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
            result.push_back({{}, 0, all - known, of_device});
    };
    add(totals.host_faults().value_or(0), host, false);
    add(totals.device_faults().value_or(0), device, true);
}

Sums sums_of(const rules::Profile& profile, Weight weight) {
    switch (weight) {
    case Weight::blocked:
        return time_blocked(profile);
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

std::vector<WeighedSite> weigh(const rules::Profile& profile, Weight weight) {
    std::vector<WeighedSite> result;
    const Sums sums = sums_of(profile, weight);
    for (const auto& [site, sum] : sums)
        if (sum != 0 && !site.first.stack.outside())
            result.push_back({site.first, site.second, sum});
    if (weight == Weight::faults)
        add_unknown_faults(profile.managed().totals(), sums, result);
    return result;
}

} // namespace umadvisor::reports
