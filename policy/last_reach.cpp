#include "policy/last_reach.hpp"

#include "policy/mix.hpp"

#include <algorithm>

namespace umadvisor::policy {

LastReach::Turns& LastReach::find(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t key = mix(address, bytes) | 1;
    Turns& turns = turns_[(key >> 1) % slots];
    if (turns.key != key) {
        turns = {};
        turns.key = key;
    }
    return turns;
}

LastReach::NextWait LastReach::launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                                      std::uint64_t now) noexcept {
    Turns& turns = find(address, bytes);
    if (turns.told) { // it was not the last
        turns.told = false;
        turns.agreed = distrusted;
    }
    if (turns.launches == 0)
        turns.stream = stream;
    turns.several_streams = turns.several_streams || turns.stream != stream;
    ++turns.launches;
    turns.last = now;
    turns.told = turns.agreed >= believed && turns.launches == turns.expected && !turns.several_streams;
    return turns.told ? NextWait{turns.place, turns.meanwhile} : NextWait{};
}

void LastReach::wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t place,
                     std::uint64_t begun) noexcept {
    Turns& turns = find(address, bytes);
    const bool same = turns.place == place && turns.expected == turns.launches && !turns.several_streams;
    turns.agreed = same ? std::min(turns.agreed + 1, believed) : std::min(turns.agreed, 0);
    turns.place = place;
    turns.meanwhile = begun - std::min(begun, turns.last);
    turns.expected = turns.launches;
    turns.launches = 0;
    turns.several_streams = turns.told = false;
}

} // namespace umadvisor::policy
