#pragma once
// UMA-3xx and 402 to 408: memory that the program could do without when it has most of it.
#include "trial.hpp"

#include <algorithm>
#include <memory>

namespace rules {

/// Some milliseconds in which the device uses `words` alone.
inline void use_for_long(Trial& trial, DeviceWords& words) {
    for (unsigned round = 0; round < trial.rounds; ++round) {
        LAUNCH(add_one, grid, block, nullptr, words.words, words.count);
        CHECK(cudaDeviceSynchronize());
        work_on_host(4000);
    }
}

inline void two_phases(Trial& trial) {
    trial.timed([&] {
        {
            DeviceWords first(trial.bytes);
            use_for_long(trial, first);
        }
        DeviceWords second(trial.bytes);
        use_for_long(trial, second);
    });
}
/// The second phase's memory is there in the first already.
inline void both_at_once(Trial& trial) {
    trial.timed([&] {
        DeviceWords second(trial.bytes);
        {
            DeviceWords first(trial.bytes);
            use_for_long(trial, first);
        }
        use_for_long(trial, second);
    });
}
inline void both_in_turns(Trial& trial) {
    trial.timed([&] {
        DeviceWords first(trial.bytes), second(trial.bytes);
        for (unsigned phase = 0; phase < 4; ++phase) {
            LAUNCH(add_one, 1, block, nullptr, first.words, std::size_t{block});
            use_for_long(trial, second);
        }
    });
}

/// The first phase's memory stays beside the second's, which is as much.
inline void one_after_the_other(Trial& trial) {
    trial.timed([&] {
        DeviceWords first(trial.bytes);
        use_for_long(trial, first);
        DeviceWords second(trial.bytes);
        use_for_long(trial, second);
    });
}
inline void the_same_twice(Trial& trial) {
    trial.timed([&] {
        DeviceWords memory(trial.bytes);
        use_for_long(trial, memory);
        use_for_long(trial, memory);
    });
}
/// What the first phase made is read to the end of the second.
inline void first_read_by_second(Trial& trial) {
    trial.timed([&] {
        DeviceWords first(trial.bytes);
        use_for_long(trial, first);
        DeviceWords second(trial.bytes);
        for (unsigned round = 0; round < trial.rounds; ++round) {
            LAUNCH(accumulate, grid, block, nullptr, second.words, first.words, first.count);
            CHECK(cudaDeviceSynchronize());
            work_on_host(4000);
        }
    });
}

inline void beside_unused(Trial& trial) {
    trial.timed([&] {
        const DeviceWords unused(trial.bytes);
        DeviceWords used(trial.bytes / 2);
        use_for_long(trial, used);
    });
}
inline void used_alone(Trial& trial) {
    trial.timed([&] {
        DeviceWords used(trial.bytes / 2);
        use_for_long(trial, used);
    });
}
inline void beside_cleared(Trial& trial) {
    trial.timed([&] {
        const DeviceWords cleared(trial.bytes);
        DeviceWords used(trial.bytes / 2);
        for (unsigned phase = 0; phase < 4; ++phase) {
            CHECK(cudaMemset(cleared.words, 0, trial.bytes));
            use_for_long(trial, used);
        }
    });
}

/// `input` is read once, and stays while half as much is worked on for long.
inline void input_kept(Trial& trial) {
    trial.timed([&] {
        DeviceWords input(trial.bytes);
        LAUNCH(fill, 1, block, nullptr, input.words, std::size_t{block}, 1u);
        CHECK(cudaDeviceSynchronize());
        DeviceWords used(trial.bytes / 2);
        use_for_long(trial, used);
    });
}
inline void input_freed(Trial& trial) {
    trial.timed([&] {
        {
            DeviceWords input(trial.bytes);
            LAUNCH(fill, 1, block, nullptr, input.words, std::size_t{block}, 1u);
            CHECK(cudaDeviceSynchronize());
        }
        DeviceWords used(trial.bytes / 2);
        use_for_long(trial, used);
    });
}

/// Left behind in each round.
inline void never_freed(Trial& trial) {
    trial.timed_rounds([&](unsigned) {
        unsigned* words = nullptr;
        CHECK(cudaMalloc(&words, trial.bytes));
        LAUNCH(fill, grid, block, nullptr, words, trial.bytes / sizeof(unsigned), 1u);
        CHECK(cudaDeviceSynchronize());
    });
}
inline void one_for_all_rounds(Trial& trial) {
    trial.timed([&] {
        DeviceWords words(trial.bytes);
        for (unsigned round = 0; round < trial.rounds; ++round) {
            LAUNCH(fill, grid, block, nullptr, words.words, words.count, 1u);
            CHECK(cudaDeviceSynchronize());
        }
    });
}
/// As many, none freed, and all in use to the end.
inline void all_in_use(Trial& trial) {
    std::vector<unsigned*> all;
    trial.timed_rounds([&](unsigned) {
        unsigned* words = nullptr;
        CHECK(cudaMalloc(&words, trial.bytes));
        all.push_back(words);
        for (unsigned* const each : all)
            LAUNCH(fill, grid, block, nullptr, each, trial.bytes / sizeof(unsigned), 1u);
        CHECK(cudaDeviceSynchronize());
    });
}

/// Copies go through `held` bytes of device memory and use `used` of them.
inline void copied_through(Trial& trial, std::size_t held, std::size_t used) {
    const PinnedWords host(used);
    trial.timed([&] {
        const DeviceWords stage(held);
        for (unsigned round = 0; round < trial.rounds; ++round) {
            CHECK(cudaMemcpy(stage.words, host.words, used, cudaMemcpyHostToDevice));
            CHECK(cudaMemcpy(host.words, stage.words, used, cudaMemcpyDeviceToHost));
        }
    });
}
inline void stage_too_large(Trial& trial) {
    copied_through(trial, trial.bytes, trial.bytes / 8);
}
inline void stage_that_fits(Trial& trial) {
    copied_through(trial, trial.bytes / 8, trial.bytes / 8);
}
inline void stage_mostly_used(Trial& trial) {
    copied_through(trial, trial.bytes, trial.bytes / 8 * 7);
}

/// The buffer is there all the time; it is page-locked for each upload or once for all of them.
inline void upload_locked(Trial& trial, bool every_round) {
    const std::size_t count = trial.bytes / sizeof(unsigned);
    const std::unique_ptr<unsigned[]> host(new unsigned[count]);
    std::fill_n(host.get(), count, 1u);
    DeviceWords data(trial.bytes);
    const auto lock = [&] { CHECK(cudaHostRegister(host.get(), trial.bytes, cudaHostRegisterDefault)); };
    const auto unlock = [&] { CHECK(cudaHostUnregister(host.get())); };
    trial.timed([&] {
        if (!every_round)
            lock();
        for (unsigned round = 0; round < trial.rounds; ++round) {
            if (every_round)
                lock();
            CHECK(cudaMemcpy(data.words, host.get(), trial.bytes, cudaMemcpyHostToDevice));
            if (every_round)
                unlock();
        }
        if (!every_round)
            unlock();
    });
}
inline void locked_every_round(Trial& trial) {
    upload_locked(trial, true);
}
inline void locked_once(Trial& trial) {
    upload_locked(trial, false);
}
/// Many at once, each for good.
inline void many_locked(Trial& trial) {
    trial.timed([&] {
        const std::size_t bytes = trial.bytes / trial.rounds;
        const DeviceWords data(bytes);
        std::vector<std::unique_ptr<PinnedWords>> all;
        for (unsigned round = 0; round < trial.rounds; ++round) {
            all.push_back(std::make_unique<PinnedWords>(bytes));
            CHECK(cudaMemcpy(data.words, all.back()->words, bytes, cudaMemcpyHostToDevice));
        }
    });
}

/// The host fills a table that it alone reads.
inline void fill_table(Trial& trial, unsigned* table) {
    const std::size_t count = trial.bytes / sizeof(unsigned);
    for (std::size_t i = 0; i < count; ++i)
        table[i] = static_cast<unsigned>(i);
    trial.expect(table[count - 1] == count - 1);
}
inline void table_pinned(Trial& trial) {
    trial.timed([&] {
        const PinnedWords table(trial.bytes);
        fill_table(trial, table.words);
    });
}
inline void table_on_the_heap(Trial& trial) {
    trial.timed([&] {
        const std::unique_ptr<unsigned[]> table(new unsigned[trial.bytes / sizeof(unsigned)]);
        fill_table(trial, table.get());
    });
}
inline void table_copied(Trial& trial) {
    trial.timed([&] {
        const PinnedWords table(trial.bytes);
        fill_table(trial, table.words);
        DeviceWords data(trial.bytes);
        CHECK(cudaMemcpy(data.words, table.words, trial.bytes, cudaMemcpyHostToDevice));
        LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
    });
}

/// A kernel's results come to the host once, into the first eighth of a large table.
inline void fetch_results(Trial& trial, bool locked) {
    const auto table = std::make_unique<unsigned[]>(trial.bytes / sizeof(unsigned)); // touches its pages
    DeviceWords data(trial.bytes / 8);
    trial.timed([&] {
        if (locked)
            CHECK(cudaHostRegister(table.get(), trial.bytes, cudaHostRegisterDefault));
        LAUNCH(fill, grid, block, nullptr, data.words, data.count, 1u);
        CHECK(cudaMemcpy(table.get(), data.words, trial.bytes / 8, cudaMemcpyDeviceToHost));
        if (locked)
            CHECK(cudaHostUnregister(table.get()));
    });
    trial.expect(table[data.count - 1] == 1);
}
inline void fetched_to_locked(Trial& trial) {
    fetch_results(trial, true);
}
inline void fetched_to_heap(Trial& trial) {
    fetch_results(trial, false);
}
inline void pinned_table_copied_often(Trial& trial) {
    trial.timed([&] {
        const PinnedWords table(trial.bytes);
        DeviceWords data(trial.bytes);
        for (unsigned round = 0; round < trial.rounds; ++round) {
            table.words[0] = round;
            CHECK(cudaMemcpy(data.words, table.words, trial.bytes, cudaMemcpyHostToDevice));
            LAUNCH(add_one, grid, block, nullptr, data.words, data.count);
        }
    });
}

/// Pieces of the row's size until no more than one fits, each used.
inline std::vector<std::unique_ptr<DeviceWords>> fill_device(Trial& trial) {
    std::vector<std::unique_ptr<DeviceWords>> pieces;
    std::size_t left = 0, all = 0;
    for (CHECK(cudaMemGetInfo(&left, &all)); left >= 2 * trial.bytes; CHECK(cudaMemGetInfo(&left, &all))) {
        pieces.push_back(std::make_unique<DeviceWords>(trial.bytes));
        LAUNCH(fill, grid, block, nullptr, pieces.back()->words, pieces.back()->count, 1u);
    }
    CHECK(cudaDeviceSynchronize());
    return pieces;
}
/// Four pieces in one. Whether it was to be had.
inline bool use_whole(Trial& trial) {
    unsigned* whole = nullptr;
    if (const cudaError_t answer = cudaMalloc(&whole, 4 * trial.bytes); answer != cudaSuccess) {
        trial.expect(answer == cudaErrorMemoryAllocation);
        cudaGetLastError();
        return false;
    }
    LAUNCH(fill, grid, block, nullptr, whole, 4 * trial.bytes / sizeof(unsigned), 2u);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(whole));
    return true;
}
inline void whole_among_pieces(Trial& trial) {
    trial.timed([&] {
        auto pieces = fill_device(trial);
        for (std::size_t i = 0; i < pieces.size(); i += 2)
            pieces[i].reset();
        trial.expect(!use_whole(trial));
    });
}
inline void whole_before_pieces(Trial& trial) {
    trial.timed([&] {
        trial.expect(use_whole(trial));
        auto pieces = fill_device(trial);
        for (std::size_t i = 0; i < pieces.size(); i += 2)
            pieces[i].reset();
    });
}
/// As much was freed before, but then the device is full: nobody's order would help.
inline void whole_beside_full(Trial& trial) {
    trial.timed([&] {
        trial.expect(use_whole(trial));
        const auto pieces = fill_device(trial);
        trial.expect(!use_whole(trial));
    });
}

} // namespace rules
