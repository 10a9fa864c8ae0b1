#pragma once
// Habits of a program's own prefetches, and their near twins.
#include "array.hpp"

namespace habits {

// prefetch_ping_pong: there and back again, with nobody who wanted it.

inline void back_and_forth(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_host(data.all());
        data.synchronize();
        data.to_device(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

inline void back_and_forth_device_uses(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_host(data.all());
        data.synchronize();
        data.to_device(data.all());
        data.device_add(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

/// Each prefetch brings what is elsewhere to the side that uses it next.
inline void back_and_forth_both_use(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_host(data.all());
        data.synchronize();
        data.host_add(data.all());
        data.to_device(data.all());
        data.device_add(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

// late_prefetch: the kernel has to fault although there is a prefetch.

inline void use_again(Trial& trial, Array& data) {
    data.synchronize();
    for (unsigned round = 0; round < trial.request.rounds; ++round)
        data.device_read(data.all());
}

inline void kernel_then_prefetch_aside(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.device_read(data.all());
    data.to_device_aside(data.all());
    use_again(trial, data);
}

inline void kernel_then_prefetch(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.device_read(data.all());
    data.to_device(data.all());
    use_again(trial, data);
}

/// Which of the two comes first is up to the card.
inline void prefetch_aside_then_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.to_device_aside(data.all());
    data.device_read(data.all());
    use_again(trial, data);
}

inline void prefetch_then_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.to_device(data.all());
    data.device_read(data.all());
    use_again(trial, data);
}

inline void prefetch_aside_event_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.to_device_aside(data.all());
    data.wait_for_aside();
    data.device_read(data.all());
    use_again(trial, data);
}

// redundant_prefetch: what is asked for is there.

inline void prefetch_resident(Trial& trial) {
    Array data(trial);
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_device(data.all());
        data.device_add(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

/// The first of three moves everything.
inline void prefetch_thrice(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    for (unsigned round = 0; round < 3; ++round) {
        data.to_device(data.all());
        data.device_add(data.all());
        data.synchronize();
    }
    data.device_read(data.all());
}

// unused_prefetch: brought to the device, and taken away before the device has looked at it.

template <class OnDevice>
void visit_device(Trial& trial, OnDevice use) {
    Array data(trial);
    data.host_fill(Source::file);
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_device(data.all());
        use(data);
        data.synchronize();
        data.to_host(data.all());
        data.synchronize();
        data.host_add(data.all());
    }
    data.host_read(data.all());
}

inline void visit_unused(Trial& trial) {
    visit_device(trial, [](Array& data) { data.device_stay_away(); });
}

inline void visit_one_page_used(Trial& trial) {
    visit_device(trial, [](Array& data) { data.device_add(data.one_page()); });
}

inline void visit_used(Trial& trial) {
    visit_device(trial, [](Array& data) { data.device_add(data.all()); });
}

/// The host fetches it back page by page.
inline void visit_unused_faulted_back(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    for (unsigned round = 0; round < trial.request.rounds; ++round) {
        data.to_device(data.all());
        data.device_stay_away();
        data.synchronize();
        data.host_add(data.all());
    }
    data.host_read(data.all());
}

} // namespace habits
