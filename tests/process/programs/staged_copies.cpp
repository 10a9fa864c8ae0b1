// Copies between pageable and device memory, long enough to be staged. Prints every answer and a digest of what
// each copy brought.
#include "scenarios.hpp"
#include "staged.hpp"

#include <algorithm>
#include <filesystem>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

CUstream make_stream() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    return stream;
}

/// Around both thresholds and the lengths of pieces, and some that go around the ring.
const std::vector<std::size_t> sizes{2 * mib - 1,    2 * mib,  2 * mib + 1,  4 * mib - 1,   4 * mib,
                                     4 * mib + 4097, 16 * mib, 16 * mib + 1, 18 * mib - 12, 37 * mib + 54'321};

/// Up by one entry point, down by another, with the source overwritten as soon as the call is back.
template <class Up, class Down>
void round_trip(const char* name, std::size_t bytes, const Up& up, const Down& down) {
    std::vector<std::uint8_t> data(bytes), back(bytes);
    const CUdeviceptr memory = allocate(bytes);
    fill(data, static_cast<unsigned>(bytes));
    const std::uint64_t sent = digest(data);
    const int went = up(memory, data);
    std::fill(data.begin(), data.end(), std::uint8_t{0xee});
    const int came = down(back, memory);
    std::printf("%s %zu: %d %d %s\n", name, bytes, went, came, digest(back) == sent ? "same" : "different");
    must(ASK("cuMemFree", cuMemFree_v2)(memory), "free");
}

void copy_synchronously(const std::vector<std::size_t>& lengths) {
    const Copies copies;
    for (const std::size_t bytes : lengths)
        round_trip(
            "HtoD DtoH", bytes, [&](CUdeviceptr to, auto& from) { return copies.up(to, from.data(), bytes); },
            [&](auto& to, CUdeviceptr from) { return copies.down(to.data(), from, bytes); });
}

void copy_few() {
    copy_synchronously({4 * mib, 19 * mib + 5, 4 * mib + 1});
}

void copy_in_every_way() {
    const CUstream stream = make_stream();
    // One byte short, at either threshold, and around the ring, which grows after the first GiB.
    const std::size_t lengths[] = {2 * mib - 1, 2 * mib, 4 * mib, 46 * mib + 54'321};
    for (const cuuint64_t flags :
         {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
        const Copies copies(flags);
        for (const std::size_t bytes : lengths) {
            round_trip(
                "HtoD DtoH", bytes,
                [&](CUdeviceptr to, auto& from) { return copies.up(to, from.data(), bytes); },
                [&](auto& to, CUdeviceptr from) { return copies.down(to.data(), from, bytes); });
            round_trip(
                "any any", bytes,
                [&](CUdeviceptr to, auto& from) { return copies.any(to, number(from.data()), bytes); },
                [&](auto& to, CUdeviceptr from) { return copies.any(number(to.data()), from, bytes); });
            for (const CUstream each : {CUstream{nullptr}, stream}) {
                round_trip(
                    "HtoDAsync DtoHAsync", bytes,
                    [&](CUdeviceptr to, auto& from) { return copies.up_later(to, from.data(), bytes, each); },
                    [&](auto& to, CUdeviceptr from) {
                        return copies.down_later(to.data(), from, bytes, each);
                    });
                round_trip(
                    "anyAsync anyAsync", bytes,
                    [&](CUdeviceptr to, auto& from) {
                        return copies.any_later(to, number(from.data()), bytes, each);
                    },
                    [&](auto& to, CUdeviceptr from) {
                        return copies.any_later(number(to.data()), from, bytes, each);
                    });
            }
        }
    }
}

/// Rows of a pitch on either side, both or none, up and down; what lies between rows has to stay as it was.
void copy_rows() {
    const auto copy = ask<decltype(&cuMemcpy2D_v2)>("cuMemcpy2D", 13000);
    const auto later = ask<decltype(&cuMemcpy2DAsync_v2)>("cuMemcpy2DAsync", 13000);
    struct Shape {
        std::size_t width, height, host_pitch, device_pitch;
    };
    for (const Shape& shape : {Shape{4096, 2048, 4096, 4096}, Shape{4096, 2048, 5000, 4096},
                               Shape{4096, 2047, 4096, 4608}, Shape{100'003, 90, 100'100, 100'352},
                               Shape{mib + 8, 17, mib + 16, 2 * mib}, Shape{1024, 5000, 1024, 1536}}) {
        const std::size_t host_bytes = (shape.height - 1) * shape.host_pitch + shape.width;
        const std::size_t device_bytes = shape.height * shape.device_pitch;
        std::vector<std::uint8_t> data(host_bytes), back(host_bytes, 0x55);
        fill(data, static_cast<unsigned>(shape.width));
        const CUdeviceptr memory = allocate(device_bytes);
        must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory, 0x11, device_bytes), "set");
        CUDA_MEMCPY2D up{}, down{};
        up.srcMemoryType = down.dstMemoryType = CU_MEMORYTYPE_HOST;
        up.dstMemoryType = down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        up.srcHost = data.data();
        down.dstHost = back.data();
        up.dstDevice = down.srcDevice = memory;
        up.srcPitch = down.dstPitch = shape.host_pitch;
        up.dstPitch = down.srcPitch = shape.device_pitch;
        up.WidthInBytes = down.WidthInBytes = shape.width;
        up.Height = down.Height = shape.height;
        const int went = copy(&up);
        std::fill(data.begin(), data.end(), std::uint8_t{0xee});
        show("rows", went, back);
        show("rows", later(&down, nullptr), back);
        std::vector<std::uint8_t> all(device_bytes);
        show("with what lies between", Copies().down(all.data(), memory, device_bytes), all);
        must(ASK("cuMemFree", cuMemFree_v2)(memory), "free");
    }
}

/// Several streams, each with a thread of its own; all of them at once.
void copy_in_threads() {
    CUcontext context = nullptr;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&context), "current");
    constexpr unsigned count = 4;
    unsigned right[count] = {};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < count; ++thread)
        threads.emplace_back([&, thread] {
            must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
            const Copies copies;
            const CUstream stream = make_stream();
            const std::size_t bytes = (5 + thread) * mib + thread;
            const CUdeviceptr memory = allocate(bytes);
            std::vector<std::uint8_t> data(bytes), back(bytes);
            for (unsigned round = 0; round < 12; ++round) {
                fill(data, 100 * thread + round);
                const std::uint64_t sent = digest(data);
                must(copies.up_later(memory, data.data(), bytes, stream), "up");
                std::fill(data.begin(), data.end(), std::uint8_t{0});
                must(copies.down_later(back.data(), memory, bytes, stream), "down");
                right[thread] += digest(back) == sent;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    std::printf("%u %u %u %u\n", right[0], right[1], right[2], right[3]);
}

/// Rounds of a loop: all copies of a way are made at one call, those to the device behind other work.
void copy_in_rounds() {
    const Copies copies;
    const auto set = ASK("cuMemsetD8Async", cuMemsetD8Async);
    constexpr std::size_t bytes = 9 * mib;
    for (unsigned round = 0; round < 12; ++round)
        round_trip(
            "in rounds", bytes,
            [&](CUdeviceptr to, auto& from) {
                must(set(to, 0, bytes, nullptr), "set");
                return copies.up(to, from.data(), bytes);
            },
            [&](auto& to, CUdeviceptr from) { return copies.down(to.data(), from, bytes); });
}

/// What is no copy between one device allocation and pageable memory.
void copy_other_memory() {
    const Copies copies;
    constexpr std::size_t bytes = 6 * mib;
    std::vector<std::uint8_t> data(bytes), back(bytes);
    fill(data, 1);
    const CUdeviceptr memory = allocate(bytes);
    std::printf("up %d\n", copies.up(memory, data.data(), bytes));
    fill(data, 2);
    std::printf("beyond %d\n", copies.up(memory + 1, data.data(), bytes)); // and nothing has changed
    show("down", copies.down(back.data(), memory, bytes), back);
    std::printf("beyond %d\n", copies.down(back.data(), memory + mib, bytes));
    std::printf("as before %lx\n", digest(back));

    void* pinned = nullptr;
    must(ASK("cuMemHostAlloc", cuMemHostAlloc)(&pinned, bytes, 0), "pinned");
    std::memcpy(pinned, data.data(), bytes);
    std::printf("pinned %d\n", copies.up(memory, pinned, bytes));
    CUdeviceptr managed = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&managed, bytes, CU_MEM_ATTACH_GLOBAL), "managed");
    std::printf("managed %d %d\n", copies.up(managed, data.data(), bytes),
                copies.down(back.data(), managed, bytes));
    // The middle and the end of a range that begins as pageable memory.
    auto* const range = static_cast<std::uint8_t*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(range, data.data(), bytes);
    must(ASK("cuMemHostRegister", cuMemHostRegister_v2)(range + 2 * mib, mib, 0), "register");
    std::printf("registered within %d\n", copies.up(memory, range, bytes));
    show("down", copies.down(back.data(), memory, bytes), back);
}

void copy_while_capturing() {
    const Copies copies;
    constexpr std::size_t bytes = 4 * mib;
    std::vector<std::uint8_t> data(bytes), back(bytes);
    const CUdeviceptr memory = allocate(bytes);
    const CUstream stream = make_stream(), other = make_stream();
    fill(data, 1);
    std::printf("before %d\n", copies.up_later(memory, data.data(), bytes, stream));
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL}) {
        CUgraph graph = nullptr;
        std::printf("begin %d\n", ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, mode));
        std::printf("captured %d %d\n", copies.up_later(memory, data.data(), bytes, stream),
                    copies.down_later(back.data(), memory, bytes, stream));
        std::printf("beside %d\n", copies.up_later(memory, data.data(), bytes, other));
        std::printf("synchronous %d\n", copies.up(memory, data.data(), bytes));
        std::printf("end %d\n", ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph));
    }
    std::printf("after %d\n", copies.up_later(memory, data.data(), bytes, stream));
}

int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A child that asks for nothing of CUDA ends; one that does gets what the driver says.
void copy_around_forks() {
    const Copies copies;
    constexpr std::size_t bytes = 4 * mib;
    std::vector<std::uint8_t> data(bytes), back(bytes);
    const CUdeviceptr memory = allocate(bytes);
    for (unsigned round = 0; round < 3; ++round) {
        fill(data, round);
        std::printf("up %d\n", copies.up(memory, data.data(), bytes));
        std::fflush(stdout);
        const pid_t child = round == 0 ? fork() : round == 1 ? _Fork() : fork();
        if (child == 0) {
            const int answer = round == 2 ? 0 : copies.up(memory, data.data(), bytes);
            if (round == 0)
                std::exit(answer + 10);
            _exit(answer + 10);
        }
        std::printf("child %d\n", end_of(child));
        show("down", copies.down(back.data(), memory, bytes), back);
    }
}

/// Contexts come and go, more of them than there are rings, and streams are used from another one.
void copy_in_contexts() {
    const Copies copies;
    constexpr std::size_t bytes = 4 * mib;
    std::vector<std::uint8_t> data(bytes), back(bytes);
    const CUstream first = make_stream();
    for (unsigned round = 0; round < 20; ++round) {
        CUcontext context = nullptr;
        must(ASK("cuCtxCreate", cuCtxCreate_v4)(&context, nullptr, 0, 0), "create");
        const CUdeviceptr memory = allocate(bytes);
        fill(data, round);
        std::printf("up %d\n", copies.up(memory, data.data(), bytes));
        show("down", copies.down(back.data(), memory, bytes), back);
        std::printf("stream of another %d\n", copies.up_later(memory, data.data(), bytes, first));
        std::printf("destroy %d\n", ASK("cuCtxDestroy", cuCtxDestroy_v2)(context));
    }
}

/// The function writes what the copy behind it in the stream is to bring.
void copy_behind_host_function() {
    const Copies copies;
    static std::vector<std::uint8_t> data(9 * mib);
    std::vector<std::uint8_t> back(data.size());
    const CUdeviceptr memory = allocate(data.size());
    const CUstream stream = make_stream();
    must(ASK("cuLaunchHostFunc", cuLaunchHostFunc)(
             stream, [](void*) { fill(data, 77); }, nullptr),
         "function");
    std::printf("up %d\n", copies.up_later(memory, data.data(), data.size(), stream));
    show("down", copies.down_later(back.data(), memory, data.size(), stream), back);
}

/// Threads of the process, this one apart, that may run on one core only.
unsigned other_bound_threads() {
    unsigned bound = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        const pid_t thread = std::stoi(task.path().filename().string());
        cpu_set_t cores;
        bound += thread != gettid() && sched_getaffinity(thread, sizeof cores, &cores) == 0 &&
                 CPU_COUNT(&cores) == 1;
    }
    return bound;
}

void bind_to_a_core() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    must(sched_setaffinity(0, sizeof one, &one) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "bind");
}

} // namespace

int main(int, char** arguments) {
    const std::string_view what = arguments[1];
    if (what == "bound")
        bind_to_a_core(); // as programs do that are to run near their device
    make_context();
    return run_scenario(what, {{"synchronous", [] { copy_synchronously(sizes); }},
                               {"few", copy_few},
                               {"bound",
                                [] {
                                    copy_few();
                                    std::printf("bound threads %u\n", other_bound_threads());
                                }},
                               {"long", [] { copy_synchronously({200 * mib + 5}); }},
                               {"rounds", copy_in_rounds},
                               {"every_way", copy_in_every_way},
                               {"rows", copy_rows},
                               {"threads", copy_in_threads},
                               {"other", copy_other_memory},
                               {"capture", copy_while_capturing},
                               {"guarded", copy_guarded_pages},
                               {"truncated", copy_truncated_file},
                               {"fork", copy_around_forks},
                               {"contexts", copy_in_contexts},
                               {"host_function", copy_behind_host_function}});
}
