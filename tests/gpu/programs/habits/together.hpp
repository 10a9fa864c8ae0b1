#pragma once
// Habits of memory that both sides want at the same time or in the same place, and their near twins.
#include "array.hpp"
#include "timeline.hpp"

namespace habits {

// thrashing: host and device are at one block at the same time. The rest of the array is the device's, and
// quiet.

/// The driver moves 64 KiB at a host fault: with no more, a page's turns are as far apart as the pace says.
inline constexpr std::size_t contested_pages = 16;

inline void take_turns(Trial& trial, Nanoseconds distance) {
    Array data(trial);
    data.device_fill();
    data.synchronize();
    const Span contested = data.pages(0, contested_pages);
    Pace pace(distance);
    for (unsigned turn = 0; turn < 4 * trial.request.rounds; ++turn) {
        data.device_add(contested);
        data.synchronize();
        pace.wait();
        data.host_add(contested);
        pace.wait();
    }
    wait_pause();
    data.device_read(data.all());
}

inline void turns_100us(Trial& trial) {
    take_turns(trial, 100'000);
}

inline void turns_400us(Trial& trial) {
    take_turns(trial, 400'000);
}

inline void turns_600us(Trial& trial) {
    take_turns(trial, 600'000);
}

inline void turns_5ms(Trial& trial) {
    take_turns(trial, 5'000'000);
}

#ifdef __CUDACC__

static __global__ void keep_adding(unsigned* words, std::size_t first, std::size_t cells, unsigned turns) {
    constexpr unsigned long long distance = 50'000;
    const auto clock = [] {
        unsigned long long time;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
        return time;
    };
    volatile unsigned* const seen = words;
    for (unsigned turn = 0; turn < turns; ++turn) {
        for (std::size_t i = first + threadIdx.x; i < first + cells; i += blockDim.x)
            seen[i * line_words] = seen[i * line_words] + 1u;
        for (const unsigned long long begun = clock(); clock() - begun < distance;) {
        }
    }
}

/// A kernel adds to one word of each line of a block, turn after turn, while the host writes another.
inline void one_kernel_one_loop(Trial& trial) {
    Array data(trial);
    data.device_fill();
    data.synchronize();
    const Span contested = data.pages(0, block / page);
    const unsigned turns = 16 * trial.request.rounds;
    data.each_slice(contested, [&](cudaStream_t stream, Span slice) {
        keep_adding<<<1, 1024, 0, stream>>>(data.words(), slice.first, slice.cells, turns);
    });
    for (unsigned turn = 0; turn < turns; ++turn)
        data.contents().add(contested);
    volatile unsigned* const words = data.words();
    unsigned pass = 0;
    do {
        ++pass;
        for (std::size_t i = 0; i < contested.cells; ++i)
            words[i * line_words + 1] = pass;
    } while (data.busy());
    for (std::size_t i = 0; i < contested.cells; ++i)
        trial.right = trial.right && words[i * line_words + 1] == pass;
    data.device_read(data.all());
}

#else

/// simcuda runs a kernel within its launch: nothing can happen beside it, only right after.
inline void one_kernel_one_loop(Trial& trial) {
    take_turns(trial, 50'000);
}

#endif

/// The same turns, but all of the host's before all of the device's.
inline void one_after_the_other(Trial& trial) {
    Array data(trial);
    data.device_fill();
    data.to_host(data.all());
    data.synchronize();
    const Span contested = data.pages(0, contested_pages);
    for (unsigned turn = 0; turn < 4 * trial.request.rounds; ++turn)
        data.host_add(turn == 0 ? data.all() : contested);
    data.to_device(data.all());
    for (unsigned turn = 0; turn < 4 * trial.request.rounds; ++turn)
        data.device_add(contested);
    data.device_read(data.all());
}

// false_sharing: the host's flag lies among the device's words; neither touches what is the other's.

/// `flag` is written by the host and by nobody else, `of_device` is the device's alone.
inline void flag_rounds(Trial& trial, Array& data, const std::vector<Span>& of_device, volatile unsigned* flag,
                        unsigned rounds) {
    for (unsigned round = 1; round <= rounds; ++round) {
        for (const Span& span : of_device)
            data.device_add(span);
        data.synchronize();
        wait_pause();
        *flag = round;
        wait_pause();
    }
    trial.right = trial.right && *flag == rounds;
    for (const Span& span : of_device)
        data.device_read(span);
}

/// A word of some line of some page whose other lines the device uses.
inline std::size_t flag_word(const Trial& trial, const Array& data) {
    return trial.request.seed * std::size_t{7} % data.all().cells * line_words + 1;
}

inline void flag_in_page(Trial& trial) {
    Array data(trial);
    data.device_fill();
    flag_rounds(trial, data, {data.all()}, data.words() + flag_word(trial, data), trial.request.rounds);
}

inline void flag_in_page_twice(Trial& trial) {
    Array data(trial);
    data.device_fill();
    flag_rounds(trial, data, {data.all()}, data.words() + flag_word(trial, data), 2);
}

/// One page of a block is the host's, all around it are the device's.
inline void flag_in_block(Trial& trial) {
    const std::size_t pages = trial.request.bytes / page;
    if (pages < 16)
        example::refuse("false_sharing, in-block: --bytes of at least 64 KiB");
    Array data(trial);
    // Odd: neither a 64 KiB granule nor a block begins with it, so that its neighbours are in the same one.
    const std::size_t flag_page = (std::min(pages, block / page) / 2) | 1;
    const std::vector<Span> of_device{data.pages(0, flag_page),
                                      data.pages(flag_page + 1, pages - flag_page - 1)};
    for (const Span& span : of_device)
        data.device_fill(span);
    flag_rounds(trial, data, of_device, data.words() + flag_page * page / sizeof(unsigned),
                trial.request.rounds);
}

static MANAGED_ARRAY(unsigned, flag_and_words, page / sizeof(unsigned));

inline void flag_in_variable(Trial& trial) {
    if (trial.request.bytes != page)
        example::refuse("false_sharing, variable: --bytes 4096, the variable's size");
    Array data(trial, flag_and_words, page);
    data.device_fill();
    flag_rounds(trial, data, {data.all()}, data.words() + flag_word(trial, data), trial.request.rounds);
}

inline void flag_of_its_own(Trial& trial) {
    Array data(trial), flag(trial, "flag", page, "none");
    data.device_fill();
    flag_rounds(trial, data, {data.all()}, flag.words(), trial.request.rounds);
}

/// In the same allocation, in a block that holds nothing else.
inline void flag_in_other_block(Trial& trial) {
    const std::size_t used = (trial.request.bytes + block - 1) / block * block;
    if (used + block > most_bytes)
        example::refuse("false_sharing, other-block: --bytes must leave a block free");
    Array data(trial, "data", used + block, trial.label);
    const Span of_device = data.pages(0, trial.request.bytes / page);
    data.device_fill(of_device);
    flag_rounds(trial, data, {of_device}, data.words() + used / sizeof(unsigned), trial.request.rounds);
}

// remote_access: the device reaches across the link again and again.

inline void read_remotely(Trial& trial, unsigned rounds) {
    Array data(trial);
    data.advise(cudaMemAdviseSetPreferredLocation, Array::host);
    data.advise(cudaMemAdviseSetAccessedBy, Array::device);
    data.host_fill(Source::file);
    for (unsigned round = 0; round < rounds; ++round)
        data.device_read(data.all());
}

inline void remote_many(Trial& trial) {
    read_remotely(trial, 2 * trial.request.rounds);
}

inline void remote_thrice(Trial& trial) {
    read_remotely(trial, 3);
}

inline void remote_once(Trial& trial) {
    read_remotely(trial, 1);
}

inline void local_many(Trial& trial) {
    Array data(trial);
    data.host_fill(Source::file);
    data.to_device(data.all());
    for (unsigned round = 0; round < 2 * trial.request.rounds; ++round)
        data.device_read(data.all());
}

} // namespace habits
