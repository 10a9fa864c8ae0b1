#include "analyzer/findings/memory_modes.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::findings {
namespace {

using machine::MemoryMode;

bool is_right_for(const Rule& rule, MemoryMode mode) {
    switch (mode) {
    case MemoryMode::coherent_numa:
    case MemoryMode::coherent_cdmm:
        return rule.fits != Fits::staged_copies;
    case MemoryMode::one_pool:
        return rule.fits == Fits::every_machine;
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
            return !is_right_for(*finding.rule, mode);
        });
    const bool priced = knows_prices(profile);
    const auto unpriced = std::stable_partition(all.begin(), all.end(), [priced](const Finding& finding) {
        return finding.rule->price == Price::none || (priced && finding.rule->price == Price::rates);
    });
    std::vector<Finding> taken(std::make_move_iterator(unpriced), std::make_move_iterator(all.end()));
    all.erase(unpriced, all.end());
    for (Finding& finding : taken) {
        finding.saving_ns = finding.saving_at_least_ns = finding.saving_at_most_ns = 0;
        finding.unpriced = true;
        finding.confidence = Confidence::low;
        finding.basis =
            finding.rule->price == Price::unknown
                ? "not known: a trace does not tell how much of this memory kernels read"
                : "not known: nobody has measured what this machine's link carries (umadvisor calibrate)";
    }
    return taken;
}

} // namespace umadvisor::findings
