// What umadvisor adds to a call, measured inside one process: batches through the driver's own address, through
// the wrapper while recording is paused ("off"), and while it is on ("record"), in rotating order. Two
// processes differ by more than what is to be measured. To be run with UMADVISOR_CAPTURE_RANGE=1; without
// umadvisor all three are the same calls, which shows what the method itself is good for. Prints one JSON line.
#include "tools/bench/operations.hpp"
#include "tools/bench/other_code.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace bench;

struct Settings {
    const char* operation = "launch";
    int threads = 1;
    int depth = 12; ///< frames above the call, about what a C++ program has
    int rounds = 200;
    int evict = 0;      ///< KiB of other memory touched before each call: what a real driver does to the caches
    int evict_code = 0; ///< KiB of other code run before each call
    bool each = false;  ///< what is added in each round is printed, too
};

enum Mode { bare, off, record, modes };
constexpr const char* mode_names[] = {"bare", "off", "record"};

/// Nanoseconds a call, of one round and one mode.
struct Sample {
    double mean;                ///< of a batch that runs through
    std::vector<double> single; ///< of calls timed one by one
};

std::uint64_t ticks() {
#if defined(__x86_64__)
    std::uint32_t low = 0, high = 0;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return std::uint64_t{high} << 32 | low;
#else
    std::uint64_t value = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

double tick_nanoseconds() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const std::uint64_t first = ticks();
    while (Clock::now() - start < std::chrono::milliseconds(50)) {
    }
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
           static_cast<double>(ticks() - first);
}

double quantile(std::vector<double> values, double part) {
    const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
    return values[at];
}

/// All threads of a run go through each step together.
class Steps {
public:
    explicit Steps(int threads) : threads_(threads) {}
    void meet() {
        const int step = step_.load();
        if (waiting_.fetch_add(1) + 1 == threads_) {
            waiting_.store(0);
            step_.store(step + 1);
        } else {
            while (step_.load() == step)
                std::this_thread::yield();
        }
    }

private:
    const int threads_;
    std::atomic<int> waiting_{0}, step_{0};
};

struct Run {
    Settings settings;
    Doors doors;
    Kernels kernels{};
    CUcontext context = nullptr;
    double nanoseconds_a_tick = 0;
    Steps steps;

    explicit Run(const Settings& given) : settings(given), steps(given.threads) {}
};

/// One thread's part.
class Worker {
public:
    explicit Worker(Run& run)
        : run_(run),
          other_(static_cast<std::size_t>(run.settings.evict) * 1024),
          other_code_(static_cast<std::size_t>(run.settings.evict_code) * 1024) {}

    const char* prepare() {
        const Doors& doors = run_.doors;
        must(doors.cuCtxSetCurrent.hooked(run_.context), "cuCtxSetCurrent");
        must(doors.cuStreamCreate.hooked(&place_.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        must(doors.cuEventCreate.hooked(&place_.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        must(doors.cuMemAllocHost_v2.hooked(&place_.pinned, 4096), "cuMemAllocHost");
        for (CUdeviceptr& array : place_.arrays)
            must(doors.cuMemAlloc_v2.hooked(&array, 64 << 10), "cuMemAlloc");
        operation_ = operation_of(run_.settings.operation, doors, run_.kernels);
        if (operation_ == nullptr)
            give_up("no such operation");
        return operation_->prepare(place_);
    }

    /// Below `depth` more frames, each with the room of a real one. The volatile result keeps every level.
    __attribute__((noinline)) double at_depth(int depth, Mode mode, Sample& sample) {
        volatile char room[64];
        room[0] = static_cast<char>(depth);
        volatile double result = depth > 0 ? at_depth(depth - 1, mode, sample) : batch(mode, sample);
        return result + (room[0] - depth);
    }

private:
    double batch(Mode mode, Sample& sample) {
        const bool hooked = mode != bare;
        const int calls = operation_->batch();
        const auto settle = [&] { run_.doors.cuStreamSynchronize[hooked](place_.stream); };
        for (int i = 0; i < calls / 8; ++i)
            operation_->call(place_, hooked); // the mode before has left its traces in caches and predictors
        settle();
        const std::uint64_t start = ticks();
        for (int i = 0; i < calls; ++i)
            operation_->call(place_, hooked);
        sample.mean = nanoseconds(ticks() - start) / calls;
        settle();
        for (int i = 0; i < calls; ++i) {
            evict();
            const std::uint64_t before = ticks();
            operation_->call(place_, hooked);
            sample.single.push_back(nanoseconds(ticks() - before));
        }
        settle();
        return 0;
    }

    void evict() {
        for (std::size_t i = 0; i < other_.size(); i += 64)
            other_[i] = static_cast<char>(other_[i] + 1);
        other_code_.run();
    }
    double nanoseconds(std::uint64_t span) const { return static_cast<double>(span) * run_.nanoseconds_a_tick; }

    Run& run_;
    Workplace place_;
    std::unique_ptr<Operation> operation_;
    std::vector<char> other_;
    OtherCode other_code_;
};

struct Figures {
    std::vector<Sample> samples[modes]; ///< one a round
    const char* skipped = nullptr;
};

void work(Run& run, bool first, Figures& figures) {
    Worker worker(run);
    figures.skipped = worker.prepare();
    run.steps.meet();
    if (figures.skipped != nullptr)
        return;
    for (int round = -5; round < run.settings.rounds; ++round) // the first few warm up
        for (int turn = 0; turn < modes; ++turn) {
            const Mode mode = static_cast<Mode>((round + 5 + turn) % modes);
            run.steps.meet();
            if (first && mode == record)
                run.doors.cuProfilerStart.hooked();
            run.steps.meet();
            Sample sample;
            worker.at_depth(run.settings.depth, mode, sample);
            run.steps.meet();
            if (first && mode == record)
                run.doors.cuProfilerStop.hooked();
            if (round >= 0)
                figures.samples[mode].push_back(std::move(sample));
        }
}

/// The round's figure of one mode: the mean over threads. With eviction batches tell nothing, so single calls
/// do.
double round_figure(const std::vector<Figures>& threads, Mode mode, std::size_t round, bool single) {
    double sum = 0;
    for (const Figures& figures : threads) {
        const Sample& sample = figures.samples[mode][round];
        sum += single ? quantile(sample.single, 0.5) : sample.mean;
    }
    return sum / static_cast<double>(threads.size());
}

void print_each(const std::vector<double>& values) {
    const char* separator = ", \"each\": [";
    for (const double value : values) {
        std::printf("%s%.1f", separator, value);
        separator = ", ";
    }
    std::printf("]");
}

void print(const Settings& settings, const std::vector<Figures>& threads) {
    const std::size_t rounds = threads[0].samples[bare].size();
    std::printf("{\"operation\": \"%s\", \"threads\": %d, \"depth\": %d, \"evict\": %d, \"evict_code\": %d, "
                "\"rounds\": %zu",
                settings.operation, settings.threads, settings.depth, settings.evict, settings.evict_code,
                rounds);
    for (int mode = bare; mode < modes; ++mode) {
        std::vector<double> values, added, singles, added_single;
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto figure = [&](Mode of, bool single) { return round_figure(threads, of, round, single); };
            values.push_back(figure(static_cast<Mode>(mode), false));
            added.push_back(values.back() - figure(bare, false));
            added_single.push_back(figure(static_cast<Mode>(mode), true) - figure(bare, true));
        }
        for (const Figures& figures : threads)
            for (const Sample& sample : figures.samples[mode])
                singles.insert(singles.end(), sample.single.begin(), sample.single.end());
        std::printf(", \"%s\": {\"median\": %.1f, \"p50\": %.1f, \"p99\": %.1f", mode_names[mode],
                    quantile(values, 0.5), quantile(singles, 0.5), quantile(singles, 0.99));
        if (mode != bare)
            std::printf(", \"added\": %.1f, \"added_low\": %.1f, \"added_high\": %.1f, \"added_p50\": %.1f",
                        quantile(added, 0.5), quantile(added, 0.25), quantile(added, 0.75),
                        quantile(added_single, 0.5));
        if (mode != bare && settings.each)
            print_each(added);
        std::printf("}");
    }
    std::printf("}\n");
}

Settings read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; i += 2) {
        const auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0; };
        if (i + 1 == argc)
            give_up("usage: [--operation NAME] [--threads N] [--depth FRAMES] [--rounds N] [--evict KIB] "
                    "[--evict-code KIB] [--each 1]");
        const int value = std::atoi(argv[i + 1]);
        if (is("--operation"))
            settings.operation = argv[i + 1];
        else if (is("--threads") && value > 0)
            settings.threads = value;
        else if (is("--depth"))
            settings.depth = value;
        else if (is("--rounds") && value > 0)
            settings.rounds = value;
        else if (is("--evict"))
            settings.evict = value;
        else if (is("--evict-code"))
            settings.evict_code = value;
        else if (is("--each"))
            settings.each = value != 0;
        else
            give_up(argv[i]);
    }
    return settings;
}

} // namespace

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    if (cudaFree(nullptr) != cudaSuccess) // makes the context
        give_up("cudaFree");
    Run run(settings);
    must(run.doors.cuCtxGetCurrent.hooked(&run.context), "cuCtxGetCurrent");
    run.kernels = load_kernels();
    run.nanoseconds_a_tick = tick_nanoseconds();
    std::vector<Figures> figures(static_cast<std::size_t>(settings.threads));
    std::vector<std::thread> others;
    for (int i = 1; i < settings.threads; ++i)
        others.emplace_back([&run, &mine = figures[static_cast<std::size_t>(i)]] { work(run, false, mine); });
    work(run, true, figures[0]);
    for (std::thread& other : others)
        other.join();
    if (figures[0].skipped != nullptr)
        std::printf("{\"operation\": \"%s\", \"skipped\": \"%s\"}\n", settings.operation, figures[0].skipped);
    else
        print(settings, figures);
}
