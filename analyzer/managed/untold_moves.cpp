#include "analyzer/managed/untold_moves.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace umadvisor::managed {
namespace {

constexpr double without_bound = std::numeric_limits<double>::infinity();
constexpr double all_faults = 0.95; ///< of the driver's: so many told are all of them
/// Of the room there is: whoever has room has taken most of it. More than there is room for went elsewhere.
constexpr double nearly_all = 0.75, little_more = 1.25;

double told_to_device(const ManagedSiteActivity& site) {
    return static_cast<double>(sum_of(site.told.to_device));
}

double told_to_host(const ManagedSiteActivity& site) {
    return static_cast<double>(sum_of(site.told.to_host));
}

double host_faults_of(const ManagedSiteActivity& site) {
    return static_cast<double>(sum_of(site.told.host_faults));
}

/// By weight; returns what is left. One that has all that it may have leaves the rest to the others.
double share_by(double rest, const std::vector<Claim>& claims, std::vector<double>& shares,
                const auto& weight_of) {
    for (std::size_t round = 0; rest >= 1 && round < claims.size(); ++round) {
        std::vector<double> weights;
        for (std::size_t i = 0; i < claims.size(); ++i)
            weights.push_back(shares[i] < claims[i].most ? weight_of(claims[i], shares[i]) : 0);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        if (sum <= 0)
            break;
        double given = 0;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const double more = std::min(rest * weights[i] / sum, claims[i].most - shares[i]);
            shares[i] += more;
            given += more;
        }
        rest -= given;
    }
    return rest;
}

/// Each fault of the host brings a granule or more of one allocation, at the most all of it.
std::vector<Claim> claims_to_host(const std::vector<ManagedSiteActivity*>& sites, bool by_faults) {
    std::vector<Claim> claims;
    for (const ManagedSiteActivity* const site : sites) {
        Claim& claim = claims.emplace_back(Claim{told_to_host(*site), without_bound, told_to_host(*site)});
        if (!by_faults)
            continue;
        // Its faults may all have made pages: nothing comes by these.
        claim.weight = claim.least > 0 ? host_faults_of(*site) : 0;
        claim.most = std::max(claim.least, claim.weight * static_cast<double>(site->largest));
    }
    return claims;
}

std::vector<Claim> claims_to_device(const std::vector<ManagedSiteActivity*>& sites,
                                    const std::vector<double>& to_host) {
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const ManagedSiteActivity& site = *sites[i];
        const double told = told_to_device(site), all = static_cast<double>(site.in_granules),
                     apart = static_cast<double>(site.by_launches.to_device),
                     came = to_host[i] + static_cast<double>(site.by_launches.to_host);
        claims.push_back({std::max({told, came - all - apart, 0.0}),
                          site.read_mostly ? without_bound : std::max(told, came + all - apart), told});
    }
    return claims;
}

} // namespace

std::vector<double> share(double whole, const std::vector<Claim>& claims) {
    std::vector<double> shares;
    for (const Claim& claim : claims)
        shares.push_back(claim.least);
    const double told = std::accumulate(shares.begin(), shares.end(), 0.0);
    const double rest =
        share_by(whole - told, claims, shares, [](const Claim& claim, double) { return claim.weight; });
    double room = 0;
    for (std::size_t i = 0; i < claims.size(); ++i)
        room += claims[i].most - shares[i];
    if (rest >= nearly_all * room && rest <= little_more * room)
        share_by(rest, claims, shares, [](const Claim& claim, double has) { return claim.most - has; });
    return shares;
}

MovedBytes share_untold(const std::vector<ManagedSiteActivity*>& sites, const ManagedTotals& totals) {
    const MovedBytes whole = totals.to_share_out();
    double faults = 0;
    bool prefetched = false;
    for (const ManagedSiteActivity* const site : sites) {
        faults += host_faults_of(*site);
        prefetched = prefetched || site->prefetched_to_host;
    }
    const bool by_faults =
        !prefetched && faults > 0 && faults >= all_faults * static_cast<double>(totals.exact()->host_faults);
    const std::vector<double> to_host =
        share(static_cast<double>(whole.to_host), claims_to_host(sites, by_faults));
    const std::vector<double> to_device =
        share(static_cast<double>(whole.to_device), claims_to_device(sites, to_host));
    MovedBytes shared;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        sites[i]->extrapolated = {reader::saturated(to_device[i]), reader::saturated(to_host[i])};
        reader::add_saturated(shared.to_device, sites[i]->extrapolated.to_device);
        reader::add_saturated(shared.to_host, sites[i]->extrapolated.to_host);
    }
    return {whole.to_device - std::min(whole.to_device, shared.to_device),
            whole.to_host - std::min(whole.to_host, shared.to_host)};
}

} // namespace umadvisor::managed
