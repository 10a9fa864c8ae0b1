// What a call stack costs at a repeated call site: remembered, and unwound anew by unw_backtrace, in turn.
// Prints JSON lines: nanoseconds, medians over batches. "kept" is of frames that keep a frame pointer, whose
// words are looked at too; "evicted" of captures timed one by one, after as much other memory was touched as
// the first cache holds.
#include "interposer/record/recorder.hpp"
#include "interposer/record/unwinder.hpp"
#include "interposer/runtime/message.hpp"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

void umadvisor::runtime::say(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    std::fputc('\n', stderr);
}

namespace {

using namespace umadvisor;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 101, batch = 500, most_frames = 128, other_bytes = 64 * 1024;

record::Unwinder unwinder;
volatile std::uint64_t sink;

struct Costs {
    int frames = 0;
    std::vector<double> remembered, unwound, evicted;
};

double nanoseconds(Clock::duration span) {
    return std::chrono::duration<double, std::nano>(span).count();
}

template <class Call>
double mean(Call&& call) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < batch; ++i)
        call();
    return nanoseconds(Clock::now() - start) / batch;
}

/// Of one call, the reading of the clock taken off.
double after_other_work() {
    static std::vector<char> other(other_bytes);
    double best_clock = 1e9, sum = 0;
    for (int i = 0; i < batch; ++i) {
        for (std::size_t at = 0; at < other.size(); at += 64)
            other[at] = static_cast<char>(other[at] + 1);
        const Clock::time_point empty = Clock::now(), start = Clock::now();
        sink = sink + record::stack();
        sum += nanoseconds(Clock::now() - start);
        best_clock = std::min(best_clock, nanoseconds(start - empty));
    }
    return sum / batch - best_clock;
}

[[gnu::noinline]] void measure(Costs& costs) {
    void* addresses[most_frames];
    costs.frames = unwinder.backtrace(addresses, most_frames);
    for (int round = 0; round < rounds; ++round) {
        costs.remembered.push_back(mean([] { sink = sink + record::stack(); }));
        costs.unwound.push_back(mean(
            [&] { sink = sink + static_cast<std::uint64_t>(unwinder.backtrace(addresses, most_frames)); }));
        costs.evicted.push_back(after_other_work());
    }
}

// Frames as real ones are: with some room each, and something left to do.

[[gnu::noinline, gnu::optimize("omit-frame-pointer")]] void below(int frames, Costs& costs) {
    volatile char room[64];
    room[0] = 1;
    if (frames > 1)
        below(frames - 1, costs);
    else
        measure(costs);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void below_kept(int frames, Costs& costs) {
    volatile char room[96]; // at other places than those above: the same call site and frame are two stacks
    room[0] = 1;
    if (frames > 1)
        below_kept(frames - 1, costs);
    else
        measure(costs);
    sink = sink + static_cast<std::uint64_t>(room[0]);
}

void print(const std::string& metric, std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    std::printf(
        "{\"metric\": \"%s\", \"value\": %.1f, \"unit\": \"ns\", \"n\": %zu, \"min\": %.1f, \"max\": %.1f}\n",
        metric.c_str(), values[values.size() / 2], values.size(), values.front(), values.back());
}

} // namespace

int main() {
    const std::string path = "/tmp/umadvisor-stack-costs." + std::to_string(getpid());
    record::Following following{};
    following.stack_frames = most_frames;
    record::Settings settings{};
    settings.path = path.c_str();
    const char* trouble = record::follow(following);
    if (trouble == nullptr)
        trouble = record::open(settings);
    unlink(path.c_str());
    if (trouble == nullptr)
        trouble = record::load_unwinder(unwinder, "");
    if (trouble != nullptr) {
        std::fprintf(stderr, "stack_costs: %s\n", trouble);
        return 1;
    }
    Costs around;
    measure(around); // frames that stand here anyway
    for (const int frames : {10, 20, 40})
        for (const bool kept : {false, true}) {
            Costs costs;
            (kept ? below_kept : below)(frames - around.frames, costs);
            if (costs.frames != frames) {
                std::fprintf(stderr, "stack_costs: %d frames, not %d\n", costs.frames, frames);
                return 1;
            }
            const std::string suffix = std::to_string(frames) + (kept ? ".kept.ns" : ".ns");
            print("stack.cached" + suffix, costs.remembered);
            print("stack.unwound" + suffix, costs.unwound);
            print("stack.evicted" + suffix, costs.evicted);
        }
}
