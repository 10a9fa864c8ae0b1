#pragma once
// What the programs of replays.cu are made of: kernels and host work that take a given time.
#include "tests/gpu/programs/rules/streams.hpp"
#include "tests/gpu/programs/rules/trial.hpp"

namespace replays {

using rules::DeviceWords, rules::PinnedWords, rules::Streams, rules::Trial, rules::work_on_host;
using rules::KiB, rules::MiB;

/// One thread keeps the device busy, so that kernels of other streams have room beside it.
KERNEL spin(DevicePtr<unsigned> words, unsigned microseconds) {
#ifdef __CUDACC__
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < microseconds * 1000ull);
#else
    COMPUTE(microseconds * std::size_t{33'000'000}); // as many as an H200 does in a microsecond
#endif
    words[0] = microseconds;
}

inline void spin_for(unsigned microseconds, unsigned* words, cudaStream_t stream = nullptr) {
    LAUNCH(spin, 1, 1, stream, words, microseconds);
}

/// Device memory that a kernel may write to.
class Target : public DeviceWords {
public:
    Target() : DeviceWords(KiB) {}
};

/// No two fills with different seeds are equal, and none is of one value.
inline void fill_on_host(unsigned* words, std::size_t count, unsigned seed) {
    for (std::size_t i = 0; i < count; ++i)
        words[i] = static_cast<unsigned>(i) ^ seed;
    habits::pass_host_time(count * sizeof(unsigned));
}

} // namespace replays
