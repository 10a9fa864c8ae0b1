// Two processes that allocate and free at random on a card that is nearly full, in turns: one step of one of
// them at a time. Says of each step whether it was refused for lack of memory, and on stderr how long the
// slowest allocation took that was granted. Which steps there are does not depend on the answers.
//   STEPS   of both processes together
//   MIB     that the card has for them; what it has beyond that is allocated first
//   SEED    other steps (1)
#include "driver_program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int processes = 2, threads = 4, streams = 3, slots = 72;
constexpr std::size_t mib = 1u << 20, slack = 64 * mib;

/// Hands the turn from one process to the next.
struct Baton {
    int from, to;

    bool wait() const {
        char turn = 0;
        return read(from, &turn, 1) == 1;
    }
    void pass() const {
        if (write(to, "x", 1) != 1)
            std::exit(3);
    }
};

enum class Kind { device, ordered, host };

struct Slot {
    Kind kind{};
    bool wanted = false; ///< whether a step has asked for it: the next one frees it, if it was granted
    void* memory = nullptr;
    CUstream stream = nullptr;

    CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(memory); }
};

class Steps {
public:
    Steps(int process, std::size_t room, unsigned seed)
        : process_(process), unit_(room / 64), random_(processes * seed + static_cast<unsigned>(process)) {
        for (CUstream& stream : streams_)
            must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    }

    /// What the next step draws.
    unsigned draw(unsigned below) { return random_() % below; }

    void run(int step) {
        Slot& slot = slots_[draw(slots)];
        const auto kind = static_cast<Kind>(draw(3));
        const std::size_t bytes = unit_ / 4 << draw(4);
        const CUstream stream = streams_[draw(streams)];
        if (slot.wanted) {
            release(slot);
            return say(step, "free", 0, CUDA_SUCCESS);
        }
        slot = {kind, true, nullptr, stream};
        const auto begun = std::chrono::steady_clock::now();
        const CUresult result = allocate(slot, bytes);
        if (result == CUDA_SUCCESS)
            slowest_ = std::max(slowest_, std::chrono::steady_clock::now() - begun);
        say(step, names[static_cast<int>(kind)], bytes, result);
    }

    void say_slowest() const {
        std::fprintf(stderr, "slowest allocation ms: %.3f\n",
                     std::chrono::duration<double, std::milli>(slowest_).count());
    }

private:
    static constexpr const char* names[] = {"device", "ordered", "host"};

    static CUresult allocate(Slot& slot, std::size_t bytes) {
        CUdeviceptr address = 0;
        if (slot.kind == Kind::host)
            return ASK("cuMemHostAlloc", cuMemHostAlloc)(&slot.memory, bytes, 0);
        const CUresult result = slot.kind == Kind::device
                                    ? ASK("cuMemAlloc", cuMemAlloc_v2)(&address, bytes)
                                    : ASK("cuMemAllocAsync", cuMemAllocAsync)(&address, bytes, slot.stream);
        slot.memory = reinterpret_cast<void*>(address);
        if (result == CUDA_SUCCESS)
            must(ASK("cuMemsetD8Async", cuMemsetD8Async)(address, 1, 256, slot.stream), "set");
        return result;
    }

    /// Memory of a pool is with the driver again after the wait.
    static void release(Slot& slot) {
        if (slot.memory == nullptr) {
        } else if (slot.kind == Kind::host) {
            must(ASK("cuMemFreeHost", cuMemFreeHost)(slot.memory), "free host");
        } else if (slot.kind == Kind::device) {
            must(ASK("cuMemFree", cuMemFree_v2)(slot.address()), "free");
        } else {
            must(ASK("cuMemFreeAsync", cuMemFreeAsync)(slot.address(), slot.stream), "free in order");
            must(ASK("cuStreamSynchronize", cuStreamSynchronize)(slot.stream), "wait");
        }
        slot = {};
    }

    void say(int step, const char* what, std::size_t bytes, CUresult result) const {
        if (result != CUDA_ERROR_OUT_OF_MEMORY)
            must(result, what);
        std::printf("step %d of %d: %s %zu %s\n", step, process_, what, bytes,
                    result == CUDA_SUCCESS ? "done" : "refused");
        std::fflush(stdout);
    }

    int process_;
    std::size_t unit_;
    std::mt19937 random_;
    std::chrono::steady_clock::duration slowest_{};
    std::array<CUstream, streams> streams_{};
    std::array<Slot, slots> slots_{};
};

/// Leaves `room` bytes of a card that has more.
void fill_up_to(std::size_t room) {
    std::size_t free = 0, total = 0;
    must(ASK("cuMemGetInfo", cuMemGetInfo_v2)(&free, &total), "info");
    CUdeviceptr ballast = 0;
    if (free > room + slack)
        must(ASK("cuMemAlloc", cuMemAlloc_v2)(&ballast, free - room), "ballast");
}

/// The steps of one process, each by one of its threads.
void run(int process, int count, std::size_t room, unsigned seed, Baton baton) {
    if (!baton.wait())
        return;
    const CUcontext context = make_context();
    Steps steps(process, room, seed);
    baton.pass();
    if (!baton.wait())
        return;
    if (process == 0)
        fill_up_to(room);
    std::mutex mutex;
    std::condition_variable turns;
    int done = 0;
    unsigned next = 0;
    const auto work = [&](unsigned thread) {
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
        std::unique_lock lock(mutex);
        while (true) {
            turns.wait(lock, [&] { return next == thread || done == count; });
            if (done == count)
                return;
            if (done != 0 && !baton.wait())
                std::exit(3);
            steps.run(done++);
            next = steps.draw(threads);
            baton.pass();
            turns.notify_all();
        }
    };
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < threads; ++thread)
        all.emplace_back(work, thread);
    for (std::thread& each : all)
        each.join();
    steps.say_slowest();
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    const int count = std::atoi(argv[1]) / processes;
    const std::size_t room = std::strtoull(argv[2], nullptr, 10) * mib;
    const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
    int first[2], second[2];
    if (pipe(first) != 0 || pipe(second) != 0)
        return 3;
    const Baton batons[processes] = {{first[0], second[1]}, {second[0], first[1]}};
    pid_t children[processes] = {};
    for (int process = 0; process < processes; ++process) {
        children[process] = fork();
        if (children[process] == 0) {
            run(process, count, room, seed, batons[process]);
            std::exit(0);
        }
    }
    batons[1].pass();
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        worst = status != 0 ? 3 : worst;
    }
    return worst;
}
