#include "analyzer/model/weights.hpp"

#include "analyzer/reader/error.hpp"

#include <array>

namespace umadvisor::model {
namespace {

struct Names {
    std::string_view option, words;
};
constexpr std::array<Names, std::size(weights)> names{{{"blocked", "time blocked"},
                                                       {"copied", "bytes copied"},
                                                       {"pageable", "pageable bytes copied"},
                                                       {"allocated", "bytes allocated"},
                                                       {"faults", "page faults"}}};

std::map<CallSite, std::uint64_t> time_blocked(const Profile& profile) {
    std::map<CallSite, std::uint64_t> sums;
    for (const auto& [site, ticks] : profile.waits().ticks())
        sums[site] = profile.nanoseconds(ticks);
    return sums;
}

std::map<CallSite, std::uint64_t> bytes_copied(const Profile& profile, bool pageable_only) {
    std::map<CallSite, std::uint64_t> sums;
    for (const auto& [site, totals] : profile.copies().sites())
        if (!pageable_only || site.source == trace::Memory::pageable ||
            site.destination == trace::Memory::pageable)
            sums[{site.stack, site.entry}] += totals.small.bytes + totals.large.bytes;
    return sums;
}

std::map<CallSite, std::uint64_t> bytes_allocated(const Profile& profile) {
    std::map<CallSite, std::uint64_t> sums;
    for (const auto& [site, totals] : profile.allocations().sites())
        sums[{site.stack, site.entry}] += totals.bytes;
    return sums;
}

std::map<CallSite, std::uint64_t> sums_of(const Profile& profile, Weight weight) {
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
        break;
    }
    throw reader::Error(profile.trace().file.path() +
                        ": has no fault counts; it tells where managed memory was, not who faulted it in");
}

} // namespace

std::string_view name(Weight weight) {
    return names[static_cast<std::size_t>(weight)].option;
}

std::string_view words(Weight weight) {
    return names[static_cast<std::size_t>(weight)].words;
}

std::vector<WeighedSite> weigh(const Profile& profile, Weight weight) {
    std::vector<WeighedSite> result;
    for (const auto& [site, sum] : sums_of(profile, weight))
        if (sum != 0)
            result.push_back({site, sum});
    return result;
}

} // namespace umadvisor::model
