#pragma once
// Data that stays where it is, and data that would if the card were larger.
#include "one_way.hpp"

namespace habits {

// oversubscribed: more than the card holds, gone through from begin to end again and again.

inline std::size_t card_bytes() {
    std::size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    if (total > std::size_t{1} << 30)
        example::refuse("oversubscribed: only on a simulated card of at most 1 GiB");
    return total;
}

inline void pass_over(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.device_add(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

inline void above_capacity(Trial& trial) {
    if (trial.request.bytes < card_bytes() / 8 * 9)
        example::refuse("oversubscribed: --bytes must be above the card's memory by an eighth");
    pass_over(trial);
}

inline void just_above_capacity(Trial& trial) {
    if (trial.request.bytes <= card_bytes())
        example::refuse("oversubscribed: --bytes must be above the card's memory");
    pass_over(trial);
}

inline void below_capacity(Trial& trial) {
    // The card also holds the few bytes that the program counts in.
    if (trial.request.bytes + block > card_bytes())
        example::refuse("oversubscribed: --bytes must leave a block of the card's memory free");
    pass_over(trial);
}

// none: each side stays with its own.

inline void stay_on_device(Trial& trial) {
    Array data(trial);
    compute(trial, data);
    data.device_read(data.all());
}

inline void stay_on_host(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    for (unsigned round = 0; round < trial.request.rounds; ++round)
        data.host_add(data.all());
    data.device_stay_away();
    data.host_read(data.all());
}

inline void there_and_back_once(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::file, true);
    data.to_host(data.all());
    data.synchronize();
    data.host_read(data.all());
}

} // namespace habits
