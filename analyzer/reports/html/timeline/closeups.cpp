#include "analyzer/reports/html/timeline/closeups.hpp"

namespace umadvisor::html {
namespace {

/// Beyond the bound, sights furthest from the begin of the call are dropped.
void trim(Closeup& closeup) {
    while (closeup.sights.size() > Closeups::most && closeup.until - closeup.from > 1) {
        closeup.from = closeup.begin - (closeup.begin - closeup.from) / 2;
        closeup.until = closeup.begin + (closeup.until - closeup.begin) / 2;
        std::erase_if(closeup.sights,
                      [&](const Sight& sight) { return !sight.meets(closeup.from, closeup.until); });
    }
}

} // namespace

void Closeups::extend(const Sight& sight) {
    for (const auto& [until, closeup] : ends_) {
        if (until <= sight.begin)
            return;
        if (sight.meets(closeup->from, closeup->until)) {
            closeup->sights.push_back(sight);
            trim(*closeup);
        }
    }
}

void Closeups::look_back() {
    for (const auto& [stack, call] : waiting_) {
        const double from = std::max(call.first - reach_, lost_until_);
        if (from > call.first)
            continue;
        Closeup& closeup = collected_[stack] = {call.first, call.second, from, call.second + reach_, {}};
        for (const std::vector<Sight>* const half : {&older_, &newer_})
            std::ranges::copy_if(*half, std::back_inserter(closeup.sights), [&closeup](const Sight& sight) {
                return sight.meets(closeup.from, closeup.until);
            });
        trim(closeup);
    }
    waiting_.clear();
    ends_.clear();
    for (auto& [stack, closeup] : collected_)
        ends_.emplace_back(closeup.until, &closeup);
    std::ranges::sort(ends_, std::ranges::greater{});
    for (const Sight& sight : older_)
        lost_until_ = std::max(lost_until_, sight.end);
    std::swap(older_, newer_);
    newer_.clear();
}

} // namespace umadvisor::html
