// Threads whose calls have numbers, so that a trace of any part of the run shows whether a call in it is
// missing. A round of a thread is `launches` launches and then a copy of four bytes to the place of the round's
// number; of each 16th round also an allocation that is freed, of each 8th a wait for the stream. With a file
// of counters each thread keeps there how many rounds it has done and where its places begin. Prints what has
// come out on the device: the same in each run of as many rounds.
#include "tools/examples/options.hpp"
#include "tools/simcuda/portable.hpp"

#include <atomic>
#include <barrier>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t places = 1 << 18; ///< numbers begin again after so many rounds
constexpr std::uint64_t launches = 8, rounds_of_wait = 8, rounds_of_allocation = 16;

KERNEL add_one(DevicePtr<unsigned> x) {
    x[0] += 1;
}

struct Settings {
    double seconds = 0; ///< 0: until the rounds are done
    double rate = 0;    ///< rounds in a second, of each thread; 0: as fast as it can
    std::uint64_t rounds = ~std::uint64_t{0};
    unsigned long threads = 2;
    const char* counters = nullptr;
};

/// Of one thread, in the file of counters.
struct Counter {
    std::atomic<std::uint64_t> rounds, places;
};

struct Outcome {
    std::uint64_t rounds = 0, launched = 0, wrong = 0;
};

Settings read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; i += 2) {
        const auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0; };
        const char* const value = i + 1 < argc ? argv[i + 1] : "";
        if (is("--seconds"))
            settings.seconds = std::atof(value);
        else if (is("--rounds"))
            settings.rounds = std::strtoull(value, nullptr, 10);
        else if (is("--rate"))
            settings.rate = std::atof(value);
        else if (is("--threads"))
            settings.threads = std::strtoul(value, nullptr, 10);
        else if (is("--counters") && *value != '\0')
            settings.counters = value;
        else
            example::refuse(
                "usage: [--seconds S] [--rounds N] [--rate ROUNDS_A_SECOND] [--threads N] [--counters FILE]");
    }
    if (settings.threads == 0 || (settings.seconds <= 0 && settings.rounds == ~std::uint64_t{0}))
        example::refuse("live_load: at least one thread, and --seconds or --rounds");
    return settings;
}

Counter* map_counters(const Settings& settings) {
    const std::size_t bytes = settings.threads * sizeof(Counter);
    const int file = settings.counters != nullptr ? open(settings.counters, O_RDWR | O_CREAT, 0600) : -1;
    if (settings.counters != nullptr && (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0))
        example::refuse("live_load: the file of counters cannot be made");
    const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (map == MAP_FAILED)
        example::refuse("live_load: no memory");
    if (file >= 0)
        close(file);
    return static_cast<Counter*>(map);
}

void work(const Settings& settings, Counter& counter, std::barrier<>& all, Outcome& outcome) {
    unsigned *sum, *numbers, *source;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
    CHECK(cudaMalloc(&numbers, places * sizeof *numbers));
    CHECK(cudaMemsetAsync(numbers, 0, places * sizeof *numbers,
                          stream)); // all its pages are there from the beginning
    CHECK(cudaMallocHost(&source, rounds_of_wait * sizeof *source));
    counter.places = reinterpret_cast<std::uint64_t>(numbers);

    const auto begun = Clock::now();
    const auto after = [begun](double seconds) {
        return begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    const auto end = settings.seconds > 0 ? after(settings.seconds) : Clock::time_point::max();
    std::uint64_t round = 0;
    for (; round < settings.rounds && Clock::now() < end; ++round) {
        for (std::uint64_t i = 0; i < launches; ++i)
            LAUNCH(add_one, 1, 1, stream, DevicePtr<unsigned>(sum));
        unsigned* const from = source + round % rounds_of_wait; // which the last copy from here has left
        *from = static_cast<unsigned>(round);
        CHECK(cudaMemcpyAsync(numbers + round % places, from, sizeof *from, cudaMemcpyHostToDevice, stream));
        if (round % rounds_of_allocation == 0) {
            unsigned* scratch;
            CHECK(cudaMalloc(&scratch, 4096));
            CHECK(cudaFree(scratch));
        }
        if (round % rounds_of_wait == rounds_of_wait - 1)
            CHECK(cudaStreamSynchronize(stream));
        counter.rounds.store(round + 1, std::memory_order_release);
        if (settings.rate > 0)
            std::this_thread::sleep_until(after(static_cast<double>(round + 1) / settings.rate));
    }
    CHECK(cudaStreamSynchronize(stream));
    all.arrive_and_wait(); // until then no memory is given back

    unsigned launched = 0;
    CHECK(cudaMemcpy(&launched, sum, sizeof launched, cudaMemcpyDeviceToHost));
    std::vector<unsigned> there(std::min(round, places));
    CHECK(cudaMemcpy(there.data(), numbers, there.size() * sizeof there[0], cudaMemcpyDeviceToHost));
    for (std::uint64_t number = round - there.size(); number < round; ++number)
        outcome.wrong += there[number % places] != static_cast<unsigned>(number);
    outcome.rounds = round;
    outcome.launched = launched;
    CHECK(cudaFreeHost(source));
    CHECK(cudaFree(numbers));
    CHECK(cudaFree(sum));
    CHECK(cudaStreamDestroy(stream));
}

} // namespace

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    Counter* const counters = map_counters(settings);
    std::vector<Outcome> outcomes(settings.threads);
    std::barrier<> all(static_cast<std::ptrdiff_t>(settings.threads));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < settings.threads; ++i)
        threads.emplace_back([&, i] { work(settings, counters[i], all, outcomes[i]); });
    for (std::thread& thread : threads)
        thread.join();
    Outcome sum;
    for (const Outcome& each : outcomes) {
        sum.rounds += each.rounds;
        sum.launched += each.launched;
        sum.wrong += each.wrong;
    }
    std::printf("{\"threads\": %lu, \"rounds\": %llu, \"launched\": %llu, \"wrong\": %llu}\n", settings.threads,
                static_cast<unsigned long long>(sum.rounds), static_cast<unsigned long long>(sum.launched),
                static_cast<unsigned long long>(sum.wrong));
    return sum.wrong == 0 ? 0 : 1;
}
