#pragma once
// Command line, failure and clock shared by the examples: what is left in each .cu file is its memory habit.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace example {

/// Exit status of a program whose own check failed, and of one that was asked for something it does not do.
inline constexpr int status_wrong = 1;
inline constexpr int status_refused = 2;

/// Largest managed working set an example accepts on a real card, in MiB: the machine may be shared.
inline constexpr std::size_t managed_limit_mib = 256;

struct Options {
    std::size_t mib;             ///< size of the working set, all arrays together, in MiB
    std::size_t rounds;          ///< how often the habit is repeated
    bool time = false;           ///< print JSON lines with measured times; output is deterministic without
    const char* order = nullptr; ///< value of --order, for the program that has one

    std::size_t bytes() const { return mib << 20; }
};

[[noreturn]] inline void refuse(const char* text) {
    std::fprintf(stderr, "%s\n", text);
    std::exit(status_refused);
}

/// Reads --mib N, --rounds N, --time and --order WORD over the defaults given; refuses anything else.
inline Options read_options(int argc, char** argv, Options options) {
    for (int i = 1; i < argc; ++i) {
        const bool has_value = i + 1 < argc;
        if (!std::strcmp(argv[i], "--time"))
            options.time = true;
        else if (!std::strcmp(argv[i], "--mib") && has_value)
            options.mib = std::strtoul(argv[++i], nullptr, 10);
        else if (!std::strcmp(argv[i], "--rounds") && has_value)
            options.rounds = std::strtoul(argv[++i], nullptr, 10);
        else if (!std::strcmp(argv[i], "--order") && has_value && options.order)
            options.order = argv[++i];
        else
            refuse("usage: [--mib N] [--rounds N] [--time], and --order WORD where the program has orders");
    }
    if (options.mib == 0 || options.rounds == 0)
        refuse("--mib and --rounds take a number above zero");
    return options;
}

/// The same for programs that use managed memory: also keeps the working set under managed_limit_mib.
inline Options read_managed_options(int argc, char** argv, Options options) {
    options = read_options(argc, argv, options);
    if (options.mib > managed_limit_mib)
        refuse("--mib: at most 256 MiB of managed memory");
    return options;
}

inline void check(cudaError_t status, const char* call, int line) {
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(status_wrong);
}

/// FNV-1a over the 32-bit words of a buffer: one figure that tells whether every element is right.
inline std::uint64_t checksum(const void* data, std::size_t bytes) {
    const auto* words = static_cast<const std::uint32_t*>(data);
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); ++i)
        sum = (sum ^ words[i]) * 0x100000001b3u;
    return sum;
}

/// Prints the result lines every example ends with and gives the exit status that belongs to them.
inline int conclude(std::size_t elements, std::uint64_t sum, bool right) {
    std::printf("elements %zu\nchecksum %016llx\n%s\n", elements, static_cast<unsigned long long>(sum),
                right ? "result right" : "result WRONG");
    return right ? 0 : status_wrong;
}

/// Microseconds on the host clock. The examples time to the end of a synchronisation: what a user waits for.
class Stopwatch {
public:
    double microseconds() const {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline void print_time(const char* metric, double microseconds) {
    std::printf("{\"metric\": \"%s\", \"value\": %.3f, \"unit\": \"us\"}\n", metric, microseconds);
}

/// Median of a few measured times; 0 of none.
inline double median(std::vector<double> times) {
    if (times.empty())
        return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

} // namespace example

#define CHECK(call) ::example::check((call), #call, __LINE__)
