#pragma once
// UMA-105 and UMA-201 to 213: managed memory that both sides use.
#include "trial.hpp"

#include <memory>

namespace rules {

inline constexpr cudaMemLocation on_device{cudaMemLocationTypeDevice, 0}, on_host{cudaMemLocationTypeHost, 0};

/// Longer than the driver remembers who was there last: what the sides do is alternation, not thrashing.
inline void step_apart() {
    CHECK(cudaDeviceSynchronize());
    habits::pass_host_time(std::size_t{20} << 20);
}

/// to[0] += the sum of from[i]
static KERNEL add_up(DevicePtr<unsigned> to, DevicePtr<const unsigned> from, std::size_t count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned sum = 0;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        sum += from[i];
    atomicAdd(to, sum);
}

/// Managed memory, freed at the end of the row. What the host does to it takes time on simcuda, too.
class ManagedWords {
public:
    explicit ManagedWords(std::size_t size) : bytes(size), count(size / sizeof(unsigned)) {
        CHECK(cudaMallocManaged(&words, size));
    }
    ~ManagedWords() { CHECK(cudaFree(words)); }
    ManagedWords(const ManagedWords&) = delete;
    ManagedWords& operator=(const ManagedWords&) = delete;

    void prefetch(cudaMemLocation where) const { CHECK(cudaMemPrefetchAsync(words, bytes, where, 0, nullptr)); }
    /// As a kernel could not: no value follows from the one before it.
    void fill_from_host(unsigned seed) const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] = seed = (seed ^ (seed >> 13)) * 2654435761u + static_cast<unsigned>(i);
    }
    void count_up_from_host() const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] = static_cast<unsigned>(i);
    }
    void fill_on_device(unsigned value) const { LAUNCH(fill, grid, block, nullptr, words, count, value); }
    void raise() const { LAUNCH(add_one, grid, block, nullptr, words, count); }
    void raise_from_host(unsigned by = 1) const {
        for (std::size_t i = 0; i < count; ++i)
            words[i] += by;
        habits::pass_host_time(bytes);
    }
    unsigned sum() const { return sum(count); }
    unsigned sum(std::size_t first_words) const {
        unsigned sum = 0;
        for (std::size_t i = 0; i < first_words; ++i)
            sum += words[i];
        habits::pass_host_time(first_words * sizeof(unsigned));
        return sum;
    }

    /// Each step waits for the one before, longer than a word takes to come from memory.
    unsigned digest(std::size_t first_words) const {
        unsigned digest = 0;
        for (std::size_t i = 0; i < first_words; ++i)
            digest = (digest ^ words[i]) * 16777619u;
        habits::pass_host_time(first_words * sizeof(unsigned));
        return digest;
    }

    unsigned* words = nullptr;
    std::size_t bytes, count;
};

/// Device memory that kernels add what they read to.
class Digest {
public:
    Digest() : words_(sizeof(unsigned)) { CHECK(cudaMemset(words_.words, 0, sizeof(unsigned))); }
    void add(const ManagedWords& data) {
        LAUNCH(add_up, grid, block, nullptr, words_.words, data.words, data.count);
    }

private:
    DeviceWords words_;
};

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

// UMA-201. Both sides go on at once, on so little that a page's turns are less than 100 us apart.

inline void contend(Trial& trial, bool stays, bool apart) {
    const ManagedWords data(trial.bytes);
    if (stays) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetPreferredLocation, on_host));
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetAccessedBy, on_device));
    }
    std::fill_n(data.words, data.count, 0u);
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaDeviceSynchronize());
        if (apart)
            habits::wait_pause();
        data.raise_from_host();
        if (apart)
            habits::wait_pause();
    });
    trial.expect(data.words[data.count - 1] == 2 * trial.rounds);
}
inline void contend_for_pages(Trial& trial) {
    contend(trial, false, false);
}
inline void leave_pages_on_host(Trial& trial) {
    contend(trial, true, false);
}
inline void take_pages_apart(Trial& trial) {
    contend(trial, false, true);
}

// UMA-202

inline void take_turns(Trial& trial, bool prefetched) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned) {
        if (prefetched)
            data.prefetch(on_device);
        data.raise();
        if (prefetched)
            data.prefetch(on_host);
        step_apart();
        data.raise_from_host();
        step_apart();
    });
    trial.expect(data.words[data.count - 1] == 2 * trial.rounds);
}
inline void ping_pong(Trial& trial) {
    take_turns(trial, false);
}
inline void ping_pong_prefetched(Trial& trial) {
    take_turns(trial, true);
}
inline void device_alone(Trial& trial) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned) {
        data.raise();
        CHECK(cudaDeviceSynchronize());
        data.raise();
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

// UMA-206

inline void raise_flag(Trial& trial, const ManagedWords& data, volatile unsigned* flag) {
    data.fill_on_device(0);
    trial.timed_rounds([&](unsigned round) {
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count - 1024);
        CHECK(cudaDeviceSynchronize());
        habits::wait_pause();
        *flag = round;
        habits::wait_pause();
    });
}
/// The host's word lies in the block of the device's.
inline void flag_among_data(Trial& trial) {
    const ManagedWords data(trial.bytes);
    raise_flag(trial, data, data.words + data.count - 1);
}
inline void flag_apart(Trial& trial) {
    const ManagedWords data(trial.bytes);
    const PinnedWords flag(sizeof(unsigned));
    raise_flag(trial, data, flag.words);
}
inline void flag_in_managed_page_of_its_own(Trial& trial) {
    const ManagedWords data(trial.bytes), flag(4096);
    raise_flag(trial, data, flag.words);
}

// UMA-207

inline void read_in_turn(Trial& trial, bool read_mostly, bool changed) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_from_host(1);
    if (read_mostly) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetReadMostly, on_device));
        data.prefetch(on_device);
    }
    unsigned sum = 0;
    trial.timed_rounds([&](unsigned round) {
        digest.add(data);
        step_apart();
        sum += data.sum();
        step_apart();
        if (changed)
            data.raise_from_host(round + 1);
    });
    trial.expect(sum != 0);
}
inline void read_by_both(Trial& trial) {
    read_in_turn(trial, false, false);
}
inline void read_by_both_duplicated(Trial& trial) {
    read_in_turn(trial, true, false);
}
inline void read_by_both_changed(Trial& trial) {
    read_in_turn(trial, false, true);
}

// UMA-208

inline void read_where_it_is(Trial& trial, bool remote, unsigned rounds) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    if (remote) {
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetPreferredLocation, on_host));
        CHECK(cudaMemAdvise(data.words, trial.bytes, cudaMemAdviseSetAccessedBy, on_device));
    }
    data.fill_from_host(1);
    trial.timed([&] {
        if (!remote)
            data.prefetch(on_device);
        for (unsigned round = 0; round < rounds; ++round)
            digest.add(data);
    });
}
inline void read_remotely(Trial& trial) {
    read_where_it_is(trial, true, trial.rounds);
}
inline void read_locally(Trial& trial) {
    read_where_it_is(trial, false, trial.rounds);
}
inline void read_remotely_once(Trial& trial) {
    read_where_it_is(trial, true, 1);
}

// UMA-209

/// All passes over a piece of `piece` bytes before the next, each piece brought ahead.
inline void pass_over(Trial& trial, std::size_t bytes, std::size_t piece) {
    const ManagedWords data(bytes);
    const std::size_t words = piece / sizeof(unsigned);
    trial.timed([&] {
        for (std::size_t at = 0; at < data.count; at += words) {
            if (piece != bytes)
                CHECK(cudaMemPrefetchAsync(data.words + at, piece, on_device, 0, nullptr));
            for (unsigned round = 0; round < trial.rounds; ++round) {
                LAUNCH(add_one, grid, block, nullptr, data.words + at, words);
                CHECK(cudaDeviceSynchronize());
            }
        }
    });
    trial.expect(data.words[data.count - 1] == trial.rounds);
}
inline void pass_over_all(Trial& trial) {
    pass_over(trial, trial.bytes, trial.bytes);
}
inline void pass_over_pieces(Trial& trial) {
    pass_over(trial, trial.bytes, trial.bytes / 8);
}
inline void pass_over_what_fits(Trial& trial) {
    pass_over(trial, trial.bytes / 2, trial.bytes / 2);
}

// UMA-210

inline void prefetch_each_round(Trial& trial, bool back, bool used) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(0);
    data.prefetch(on_host);
    CHECK(cudaDeviceSynchronize());
    if (!back)
        data.prefetch(on_device);
    trial.timed_rounds([&](unsigned) {
        if (back) {
            data.prefetch(on_device);
            if (used)
                data.raise();
            data.prefetch(on_host);
        }
        if (!used)
            return;
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}
inline void prefetch_there_and_back(Trial& trial) {
    prefetch_each_round(trial, true, false);
}
inline void prefetch_once(Trial& trial) {
    prefetch_each_round(trial, false, false);
}
inline void prefetch_for_both(Trial& trial) {
    prefetch_each_round(trial, true, true);
}

// UMA-211

inline void prefetch_beside_launch(Trial& trial, bool after, bool in_parts) {
    Digest digest;
    for (unsigned round = 0; round < trial.rounds; ++round) {
        const ManagedWords data(trial.bytes);
        data.fill_from_host(round);
        trial.timed([&] {
            if (!after)
                data.prefetch(on_device);
            digest.add(data);
            if (in_parts)
                CHECK(cudaDeviceSynchronize());
            if (after)
                data.prefetch(on_device);
        });
    }
}
inline void prefetch_after(Trial& trial) {
    prefetch_beside_launch(trial, true, false);
}
inline void prefetch_before(Trial& trial) {
    prefetch_beside_launch(trial, false, false);
}
inline void prefetch_before_and_wait(Trial& trial) {
    prefetch_beside_launch(trial, false, true);
}

// UMA-212

inline void prefetch_resident(Trial& trial, unsigned each_round) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_on_device(1);
    trial.timed_rounds([&](unsigned) {
        for (unsigned call = 0; call < each_round; ++call)
            data.prefetch(on_device);
        LAUNCH(add_one, 1, block, nullptr, data.words, block);
        CHECK(cudaDeviceSynchronize());
    });
}
inline void prefetch_what_is_there(Trial& trial) {
    prefetch_resident(trial, 1);
}
inline void prefetch_nothing(Trial& trial) {
    prefetch_resident(trial, 0);
}
/// As many calls, each of what the host has had meanwhile.
inline void prefetch_what_left(Trial& trial) {
    const ManagedWords data(trial.bytes);
    data.fill_on_device(1);
    trial.timed_rounds([&](unsigned) {
        data.prefetch(on_device);
        data.raise();
        data.prefetch(on_host);
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}

// UMA-213

inline void prefetch_in_vain(Trial& trial, bool prefetched, bool used) {
    const ManagedWords data(trial.bytes);
    Digest digest;
    data.fill_from_host(1);
    trial.timed_rounds([&](unsigned) {
        if (prefetched)
            data.prefetch(on_device);
        if (used)
            digest.add(data);
        CHECK(cudaDeviceSynchronize());
        if (prefetched && used)
            data.prefetch(on_host);
        CHECK(cudaDeviceSynchronize());
        data.raise_from_host();
    });
}
inline void prefetch_unused(Trial& trial) {
    prefetch_in_vain(trial, true, false);
}
inline void prefetch_not(Trial& trial) {
    prefetch_in_vain(trial, false, false);
}
inline void prefetch_used(Trial& trial) {
    prefetch_in_vain(trial, true, true);
}

} // namespace rules
