#pragma once
// Habits of data that one side makes and the other uses, moved by faults, and their near twins.
#include "array.hpp"

namespace habits {

// first_touch: the host initialises all with what only it has, one kernel reads it.

inline void fill_then_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.host_read(data.all());
    data.device_read(data.all());
}

inline void fill_prefetch_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.host_read(data.all());
    data.to_device(data.all());
    data.device_read(data.all());
}

inline void fill_prefetch_half_kernel(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.host_read(data.all());
    data.to_device(data.half());
    data.device_read(data.all());
}

inline void fill_in_kernel(Trial& trial) {
    Array data(trial);
    data.device_fill();
    data.synchronize();
    data.device_read(data.all());
}

// host_populate: the host fills what a kernel could fill, and only the device uses it.

inline void populate(Trial& trial, Array& data, Source source, bool prefetched) {
    data.host_fill(source);
    if (prefetched)
        data.to_device(data.all());
    for (unsigned round = 0; round < trial.request.rounds; ++round)
        data.device_add(data.all());
    data.device_read(data.all());
}

inline void count_on_host(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::counted, false);
}

inline void count_on_host_prefetched(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::counted, true);
}

inline void count_on_host_look_once(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::counted, true);
    data.synchronize();
    data.host_read(data.one_page());
}

inline void file_on_host(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::file, false);
}

inline void file_on_host_prefetched(Trial& trial) {
    Array data(trial);
    populate(trial, data, Source::file, true);
}

// read_back: the host reads the kernels' results, once, at the end.

inline void compute(Trial& trial, Array& data) {
    data.device_fill();
    for (unsigned round = 0; round < trial.request.rounds; ++round)
        data.device_add(data.all());
    data.synchronize();
}

inline void read_all(Trial& trial) {
    Array data(trial);
    compute(trial, data);
    data.host_read(data.all());
}

inline void read_half(Trial& trial) {
    Array data(trial);
    compute(trial, data);
    data.host_read(data.half());
}

inline void prefetch_then_read_all(Trial& trial) {
    Array data(trial);
    compute(trial, data);
    data.to_host(data.all());
    data.synchronize();
    data.host_read(data.all());
}

inline void read_one_page(Trial& trial) {
    Array data(trial);
    compute(trial, data);
    data.host_read(data.one_page());
}

} // namespace habits
