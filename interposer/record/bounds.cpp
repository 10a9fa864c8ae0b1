#include "interposer/record/bounds.hpp"

#include "interposer/record/recorder.hpp"

#include <atomic>

namespace umadvisor::record {

namespace {

struct Text {
    const char *what, *rest;
};
constexpr Text texts[] = {
#define BOUND(name, most, what, rest) {what, rest},
#include "interposer/record/bounds.def"
#undef BOUND
};
constexpr auto count = static_cast<std::size_t>(Bound::count_);

constinit std::atomic<std::uint64_t> beyond[count] = {};

} // namespace

[[gnu::cold]] void reached(Bound bound) noexcept {
    const auto which = static_cast<std::size_t>(bound);
    if (beyond[which].fetch_add(1, std::memory_order_relaxed) == 0)
        note("umadvisor keeps no more than %zu %s: %s", most(bound), texts[which].what, texts[which].rest);
}

void note_reached() noexcept {
    for (std::size_t which = 0; which < count; ++which)
        if (const std::uint64_t more = beyond[which].load(std::memory_order_relaxed); more > 1)
            note("%llu times there was no room for one more of the %s", static_cast<unsigned long long>(more),
                 texts[which].what);
}

} // namespace umadvisor::record
