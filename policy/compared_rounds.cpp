#include "policy/compared_rounds.hpp"

#include <algorithm>

namespace umadvisor::policy {

ComparedRounds::Site* ComparedRounds::find(std::uint64_t name, bool take) noexcept {
    const std::uint64_t hash = name * 0x9e3779b97f4a7c15u >> 32;
    for (std::size_t i = 0; i < most_sites; ++i) {
        Site& site = sites_[(hash + i) % most_sites];
        if (site.name == 0 && take)
            site.name = name;
        if (site.name == name)
            return &site;
        if (site.name == 0)
            return nullptr;
    }
    return nullptr;
}

bool ComparedRounds::begins(std::uint64_t site, std::uint64_t bytes, std::uint64_t waits,
                            std::uint64_t now) noexcept {
    Site* const known = find(site, true);
    if (known == nullptr || (known->rounds != 0 && known->waits == waits))
        return false;
    if (begun_ == 0)
        begun_ = now;
    known->last_ns = known->rounds == 0 ? 0 : now - std::min(now, known->began);
    known->began = now;
    known->waits = waits;
    ++known->rounds;
    const std::uint64_t rounds = known->last_ns == 0 ? 1 : least_ns / known->last_ns + 1;
    const std::uint64_t cost = bytes / ns_bytes * rounds;
    if (known->covered || known->rounds < known->next ||
        (now - std::min(now, begun_)) / share < spent_ns_ + cost)
        return false;
    known->next = growth * known->rounds;
    spent_ns_ += cost;
    return true;
}

std::uint64_t ComparedRounds::deadline(std::uint64_t site, std::uint64_t now) const noexcept {
    const Site* const known = const_cast<ComparedRounds*>(this)->find(site, false);
    constexpr std::uint64_t times = 16;
    return now + times * std::max(least_ns, known == nullptr ? 0 : known->last_ns);
}

void ComparedRounds::covered(std::uint64_t site) noexcept {
    if (Site* const known = find(site, true))
        known->covered = true;
}

} // namespace umadvisor::policy
