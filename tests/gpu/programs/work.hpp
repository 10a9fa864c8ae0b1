#pragma once
// What the programs of managed/ and idle/ share: memory, rounds and their clock, and the prefetches that are
// made with --hand only. Bare and by hand are thus one source, and each prefetch stands where an expert would
// write it.
#include "tests/gpu/programs/habits/timeline.hpp"
#include "tests/gpu/programs/turns.hpp"
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

/// The elements of [0, n) that are this thread's.
#define GRID_STRIDE_LOOP(i, n)                                                                                 \
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < (n);                          \
         i += std::size_t{gridDim.x} * blockDim.x)

namespace managed {

/// What a program takes where the command line does not say.
struct Defaults {
    std::size_t gpu_mib, sim_mib, rounds;
};

/// Which of two figures belongs to the machine that the program is built for.
constexpr std::size_t gpu_or_sim([[maybe_unused]] std::size_t gpu, [[maybe_unused]] std::size_t sim) {
#ifdef __CUDACC__
    return gpu;
#else
    return sim;
#endif
}

/// One run: reads --hand, --turns (turns.hpp) and the options of the examples, owns the memory it hands out,
/// times the rounds. Failed calls end the program.
class Work {
public:
    Work(int argc, char** argv, Defaults defaults) {
        const auto take = [&](char** end, const char* option) {
            return std::remove_if(argv, end, [=](const char* word) { return !std::strcmp(word, option); });
        };
        char** const without_hand = take(argv + argc, "--hand");
        by_hand_ = without_hand != argv + argc;
        char** const end = take(without_hand, "--turns");
        in_turns_ = end != without_hand;
        options_ =
            example::read_managed_options(static_cast<int>(end - argv), argv,
                                          {gpu_or_sim(defaults.gpu_mib, defaults.sim_mib), defaults.rounds});
        // Loading a kernel when it is first launched is start-up, whoever prefetches.
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() {
        for (void* const each : allocations_)
            CHECK(cudaFree(each));
    }

    std::size_t mib() const { return options_.mib; }
    bool by_hand() const { return by_hand_; }

    /// Elements of one array where `parts` of equal size share the working set.
    template <class T>
    std::size_t count(std::size_t parts) const {
        return options_.bytes() / parts / sizeof(T);
    }

    template <class T>
    T* allocate(std::size_t count) {
        T* data;
        CHECK(cudaMallocManaged(&data, count * sizeof(T)));
        allocations_.push_back(data);
        return data;
    }

    /// True until all rounds are done. The time between the first call and the last is the work's, so each
    /// round ends with a synchronisation.
    bool next_round() {
        habits::pass_host_time(host_bytes_); // what came to the host it has gone through by now
        host_bytes_ = 0;
        if (in_turns_)
            turns::begin_round(starts_.size());
        starts_.push_back(habits::now());
        return starts_.size() <= options_.rounds;
    }
    std::size_t round() const { return starts_.size() - 1; }

    /// With --hand: moves `count` elements on `stream`. Else nothing.
    template <class T>
    void to_device(const T* data, std::size_t count, cudaStream_t stream = nullptr, int device = 0) const {
        if (round() != 0)
            habits::pass_host_time(count * sizeof(T)); // and what goes to the device it has written
        if (by_hand_)
            CHECK(
                cudaMemPrefetchAsync(data, count * sizeof(T), {cudaMemLocationTypeDevice, device}, 0, stream));
    }
    template <class T>
    void to_host(const T* data, std::size_t count, cudaStream_t stream = nullptr) {
        host_bytes_ += count * sizeof(T);
        if (by_hand_)
            CHECK(cudaMemPrefetchAsync(data, count * sizeof(T), {cudaMemLocationTypeHost, 0}, 0, stream));
    }

    /// Prints the result and, with --time, microseconds on simcuda's clock or the card's machine's: `work` of
    /// all rounds, `steady` of those after the second. Returns the exit status.
    template <class T>
    int conclude(const T* data, std::size_t count, bool right) const {
        if (in_turns_)
            turns::print(starts_);
        if (options_.time) {
            print_time_since("work", 0);
            if (options_.rounds > 2)
                print_time_since("steady", 2);
        }
        return example::conclude(count, example::checksum(data, count * sizeof(T)), right);
    }

private:
    void print_time_since(const char* metric, std::size_t round) const {
        example::print_time(metric, static_cast<double>(starts_.back() - starts_[round]) / 1e3);
    }

    example::Options options_{};
    bool by_hand_ = false, in_turns_ = false;
    std::size_t host_bytes_ = 0; ///< that the host is about to go through
    std::vector<void*> allocations_;
    std::vector<habits::Nanoseconds> starts_; ///< of each round, and the end of the last
};

} // namespace managed
