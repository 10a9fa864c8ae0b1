#pragma once
// UMA-105 and UMA-203 to 205: managed memory that one side makes and the other uses.
#include "managed.hpp"

#include <memory>

namespace rules {

// UMA-105

inline void copy_to_managed(Trial& trial) {
    const ManagedWords data(trial.bytes);
    const std::unique_ptr<unsigned[]> buffer(new unsigned[data.count]);
    data.fill_on_device(0);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        std::fill_n(buffer.get(), data.count, round);
        trial.timed([&] {
            CHECK(cudaMemcpy(data.words, buffer.get(), trial.bytes, cudaMemcpyDefault));
            data.raise();
        });
    }
}

inline void write_managed_in_place(Trial& trial) {
    const ManagedWords data(trial.bytes);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        data.fill_from_host(round);
        trial.timed([&] {
            data.prefetch(on_device);
            data.raise();
        });
    }
}

inline void copy_managed_to_device(Trial& trial) {
    const ManagedWords data(trial.bytes);
    const DeviceWords snapshot(trial.bytes);
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaMemcpy(snapshot.words, data.words, trial.bytes, cudaMemcpyDefault));
    });
}

// UMA-203

inline void touch_first(Trial& trial, bool prefetched) {
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        data.fill_from_host(round);
        trial.timed([&] {
            if (prefetched)
                data.prefetch(on_device);
            digest.add(data);
        });
    }
}
inline void first_touch(Trial& trial) {
    touch_first(trial, false);
}
inline void first_touch_prefetched(Trial& trial) {
    touch_first(trial, true);
}
inline void first_touch_on_device(Trial& trial) {
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        data.fill_on_device(round);
        trial.timed([&] { digest.add(data); });
    }
}

inline void touch_in_parts(Trial& trial, bool prefetched, bool waits, unsigned used) {
    constexpr unsigned parts = 64;
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        data.fill_from_host(round);
        trial.timed([&] {
            if (prefetched)
                data.prefetch(on_device);
            for (unsigned part = 0; part < parts; ++part) {
                digest.add_part(data, part % used, parts);
                if (waits)
                    CHECK(cudaDeviceSynchronize());
            }
        });
    }
}
inline void first_touch_in_parts(Trial& trial) {
    touch_in_parts(trial, false, true, 64);
}
inline void first_touch_without_waits(Trial& trial) {
    touch_in_parts(trial, false, false, 64);
}
inline void prefetched_in_parts(Trial& trial) {
    touch_in_parts(trial, true, true, 64);
}
inline void first_touch_of_one_part(Trial& trial) {
    touch_in_parts(trial, false, true, 1);
}

// UMA-214

inline void make_pages(Trial& trial, bool prefetched) {
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        trial.timed([&] {
            if (prefetched)
                data.prefetch(on_device);
            for (unsigned use = 0; use < 10; ++use) {
                data.raise();
                CHECK(cudaDeviceSynchronize());
            }
        });
    }
}
inline void populate_by_faults(Trial& trial) {
    make_pages(trial, false);
}
inline void populate_by_prefetch(Trial& trial) {
    make_pages(trial, true);
}
inline void populate_by_memset(Trial& trial) {
    const ManagedWords data(trial.bytes);
    CHECK(cudaMemset(data.words, 0, trial.bytes));
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaDeviceSynchronize());
    });
}

// UMA-204. Both fill and use are timed; filling on the host takes longer than the move, which is what counts.

inline void populate(Trial& trial, bool counted, bool given) {
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        if (counted)
            data.count_up_from_host();
        if (given)
            data.fill_from_host(round);
        trial.timed([&] {
            if (given)
                data.prefetch(on_device);
            if (!counted && !given) {
                data.prefetch(on_device); // or it would come into being by faults
                data.fill_on_device(round);
            }
            for (unsigned use = 0; use < 3; ++use) {
                digest.add(data);
                CHECK(cudaDeviceSynchronize());
            }
        });
    }
}
inline void populate_on_host(Trial& trial) {
    populate(trial, true, false);
}
inline void populate_on_device(Trial& trial) {
    populate(trial, false, false);
}
inline void populate_with_data(Trial& trial) {
    populate(trial, false, true);
}

// UMA-205. The host has had the memory before: pages that are new to it cost more than their way.

inline void read_back_rounds(Trial& trial, bool prefetched, std::size_t read) {
    const ManagedWords data(trial.bytes);
    data.fill_from_host(1);
    for (unsigned round = 0; round < trial.rounds; ++round) {
        data.prefetch(on_device);
        data.fill_on_device(round);
        unsigned digest = 0, expected = 0;
        trial.timed([&] {
            if (prefetched)
                data.prefetch(on_host);
            step_apart();
            digest = data.digest(read);
        });
        for (std::size_t i = 0; i < read; ++i)
            expected = (expected ^ round) * 16777619u;
        trial.expect(digest == expected);
    }
}
inline void read_back(Trial& trial) {
    read_back_rounds(trial, false, trial.bytes / sizeof(unsigned));
}
inline void read_back_prefetched(Trial& trial) {
    read_back_rounds(trial, true, trial.bytes / sizeof(unsigned));
}
inline void read_back_one_page(Trial& trial) {
    read_back_rounds(trial, false, 1024);
}

} // namespace rules
