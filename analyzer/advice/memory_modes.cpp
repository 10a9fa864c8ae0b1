#include "analyzer/advice/memory_modes.hpp"

#include "analyzer/rules/profile.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::advice {
namespace {

using machine::MemoryMode;

bool is_right_for(const rules::Rule& rule, MemoryMode mode) {
    switch (mode) {
    case MemoryMode::coherent_numa:
    case MemoryMode::coherent_cdmm:
        return rule.fits != rules::Fits::staged_copies;
    case MemoryMode::one_pool:
        return rule.fits == rules::Fits::every_machine;
    case MemoryMode::undecided:
    case MemoryMode::discrete:
    case MemoryMode::hmm:
        return true;
    }
    return true;
}

/// Whether what moving memory costs is known: PCIe lies between host and each device, or the prices are those
/// of this device, measured.
bool knows_prices(const rules::Profile& profile) {
    return std::ranges::all_of(profile.dictionary().devices, [&profile](const trace::Device& device) {
        return machine::are_known(profile.rates(), device, profile.memory_mode(device));
    });
}

} // namespace

std::vector<rules::Finding> keep_to_machine(const rules::Profile& profile, std::vector<rules::Finding>& all) {
    for (const trace::Device& device : profile.dictionary().devices)
        std::erase_if(all, [mode = profile.memory_mode(device)](const rules::Finding& finding) {
            return !is_right_for(*finding.rule, mode);
        });
    const bool priced = knows_prices(profile);
    const auto unpriced =
        std::stable_partition(all.begin(), all.end(), [priced](const rules::Finding& finding) {
            return finding.rule->price == rules::Price::none ||
                   (priced && finding.rule->price == rules::Price::rates);
        });
    std::vector<rules::Finding> taken(std::make_move_iterator(unpriced), std::make_move_iterator(all.end()));
    all.erase(unpriced, all.end());
    for (rules::Finding& finding : taken) {
        finding.saving_ns = finding.saving_at_least_ns = finding.saving_at_most_ns = 0;
        finding.unpriced = true;
        finding.confidence = rules::Confidence::low;
        finding.basis = finding.rule->price == rules::Price::unknown
                            ? "unknown: a trace does not show how much of this memory kernels read"
                            : "unknown: this machine's link was not measured (umadvisor calibrate)";
    }
    return taken;
}

} // namespace umadvisor::advice
