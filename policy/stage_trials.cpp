#include "policy/stage_trials.hpp"

namespace umadvisor::policy {

namespace {

constexpr std::uint64_t first = 5; ///< copy
constexpr std::uint64_t first_measured = 96;
constexpr std::uint64_t soon = 3; ///< copies
constexpr std::uint64_t growth = 4;
constexpr unsigned most_losses = 2;

} // namespace

bool StagePace::faster_than(const StagePace& other) const noexcept {
    return static_cast<double>(ticks) * static_cast<double>(other.bytes) <
           static_cast<double>(other.ticks) * static_cast<double>(bytes);
}

StageTrials::Choice StageTrials::choose(std::uint64_t name) noexcept {
    Site* const site = find(name);
    if (site == nullptr)
        return Choice::stage;
    if (site->losses == most_losses)
        return Choice::leave;
    if (++site->copies < site->next || site->staged.bytes == 0)
        return Choice::stage;
    site->next = site->copies + soon; // also should nothing come of this one
    return Choice::compare;
}

void StageTrials::staged(std::uint64_t name, StagePace copy) noexcept {
    if (Site* const site = find(name)) {
        site->staged.bytes += copy.bytes;
        site->staged.ticks += copy.ticks;
    }
}

bool StageTrials::compared(std::uint64_t name, StagePace copy, StagePace& staged) noexcept {
    Site* const site = find(name);
    if (site == nullptr || site->staged.bytes == 0 || site->losses == most_losses)
        return false; // another thread's comparison has come between
    staged = site->staged;
    site->staged = {};
    if (measures_ || !copy.faster_than(staged)) {
        site->losses = 0;
        site->next = growth * site->copies;
        return false;
    }
    return ++site->losses == most_losses;
}

StageTrials::Site* StageTrials::find(std::uint64_t name) noexcept {
    const std::uint64_t hash = name * 0x9e3779b97f4a7c15u >> 32;
    for (std::size_t i = 0; i < most_sites; ++i) {
        Site& site = sites_[(hash + i) % most_sites];
        if (site.name == 0) {
            site.name = name;
            site.next = measures_ ? first_measured : first;
        }
        if (site.name == name)
            return &site;
    }
    return nullptr;
}

} // namespace umadvisor::policy
