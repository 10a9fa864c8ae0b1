#include "analyzer/findings/memory_modes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace umadvisor::findings {
namespace {

using machine::MemoryMode;

/// The savings of these rules are computed from the rates of a link or from the price of a page fault.
constexpr std::array by_price{
    &rule("UMA-101"), &rule("UMA-102"), &rule("UMA-103"), &rule("UMA-104"), &rule("UMA-105"), &rule("UMA-106"),
    &rule("UMA-107"), &rule("UMA-108"), &rule("UMA-109"), &rule("UMA-111"), &rule("UMA-112"), &rule("UMA-113"),
    &rule("UMA-114"), &rule("UMA-115"), &rule("UMA-118"), &rule("UMA-119"), &rule("UMA-120"), &rule("UMA-121"),
    &rule("UMA-122"), &rule("UMA-123"), &rule("UMA-201"), &rule("UMA-202"), &rule("UMA-203"), &rule("UMA-204"),
    &rule("UMA-205"), &rule("UMA-206"), &rule("UMA-207"), &rule("UMA-208"), &rule("UMA-209"), &rule("UMA-210"),
    &rule("UMA-211"), &rule("UMA-212"), &rule("UMA-213"), &rule("UMA-214"), &rule("UMA-215"), &rule("UMA-303"),
    &rule("UMA-409")};

/// A trace tells that kernels may reach the memory, not how much of it.
constexpr std::array without_price{&rule("UMA-216"), &rule("UMA-217")};

/// Advise page-locked memory, since the driver stages copies of pageable memory: hardware that reaches all
/// memory copies it as it is.
constexpr std::array on_staging{&rule("UMA-101"), &rule("UMA-102")};

/// Advise how to move memory, or to leave it where it is: in one pool it moves nowhere, and UMA-124 tells of
/// copies.
constexpr std::array on_moving{
    &rule("UMA-103"), &rule("UMA-104"), &rule("UMA-105"), &rule("UMA-106"), &rule("UMA-107"), &rule("UMA-108"),
    &rule("UMA-109"), &rule("UMA-111"), &rule("UMA-112"), &rule("UMA-113"), &rule("UMA-114"), &rule("UMA-115"),
    &rule("UMA-118"), &rule("UMA-119"), &rule("UMA-121"), &rule("UMA-122"), &rule("UMA-201"), &rule("UMA-202"),
    &rule("UMA-203"), &rule("UMA-204"), &rule("UMA-205"), &rule("UMA-206"), &rule("UMA-207"), &rule("UMA-208"),
    &rule("UMA-209"), &rule("UMA-210"), &rule("UMA-211"), &rule("UMA-213"), &rule("UMA-214"), &rule("UMA-215"),
    &rule("UMA-303")};

bool is_among(std::span<const Rule* const> list, const Rule* rule) {
    return std::ranges::find(list, rule) != list.end();
}

bool is_right_for(const Rule* rule, MemoryMode mode) {
    switch (mode) {
    case MemoryMode::coherent_numa:
    case MemoryMode::coherent_cdmm:
        return !is_among(on_staging, rule);
    case MemoryMode::one_pool:
        return !is_among(on_staging, rule) && !is_among(on_moving, rule);
    case MemoryMode::undecided:
    case MemoryMode::discrete:
    case MemoryMode::hmm:
        return true;
    }
    return true;
}

} // namespace

bool knows_prices(const model::Profile& profile) {
    return std::ranges::all_of(profile.dictionary().devices, [&profile](const trace::Device& device) {
        return machine::are_known(profile.rates(), device, profile.memory_mode(device));
    });
}

bool is_one_pool(const model::Profile& profile) {
    const auto& devices = profile.dictionary().devices;
    return !devices.empty() && std::ranges::all_of(devices, [&profile](const trace::Device& device) {
        return profile.memory_mode(device) == MemoryMode::one_pool;
    });
}

std::vector<Finding> keep_to_machine(const model::Profile& profile, std::vector<Finding>& all) {
    for (const trace::Device& device : profile.dictionary().devices)
        std::erase_if(all, [mode = profile.memory_mode(device)](const Finding& finding) {
            return !is_right_for(finding.rule, mode);
        });
    const bool priced = knows_prices(profile);
    const auto unpriced = std::stable_partition(all.begin(), all.end(), [priced](const Finding& finding) {
        return !is_among(without_price, finding.rule) && (priced || !is_among(by_price, finding.rule));
    });
    std::vector<Finding> taken(std::make_move_iterator(unpriced), std::make_move_iterator(all.end()));
    all.erase(unpriced, all.end());
    for (Finding& finding : taken) {
        finding.saving_ns = finding.saving_at_least_ns = finding.saving_at_most_ns = 0;
        finding.unpriced = true;
        finding.confidence = Confidence::low;
        finding.basis =
            is_among(without_price, finding.rule)
                ? "not known: a trace does not tell how much of this memory kernels read"
                : "not known: nobody has measured what this machine's link carries (umadvisor calibrate)";
    }
    return taken;
}

} // namespace umadvisor::findings
