// Mixed load for as long as asked: threads that are born and die, launches, copies, allocations of every
// lifetime, children, GPU modules and shared objects that come and go. Counts every call it makes and prints
// the counts, so that a trace of it can be held against them.
#include "tools/bench/resident.hpp"
#include "tools/bench/soak_calls.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#ifdef __CUDACC__
/// count_up(float*), for any card: the driver translates it.
const char image[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry count_up(.param .u64 x) {\n"
    ".reg .u64 %rd<3>; .reg .f32 %f<3>;\n"
    "ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd2, %rd1;\n"
    "ld.global.f32 %f1, [%rd2]; add.f32 %f2, %f1, 0f3F800000; st.global.f32 [%rd2], %f2; ret; }\n";
const void* kernel_image() {
    return image;
}
#else
#include "tools/simcuda/device_pointer.hpp"
#include "tools/simcuda/kernel.hpp"

void count_up(DevicePtr<float> x) {
    x[0] = x[0] + 1;
}
const void* kernel_image() {
    static simcuda::KernelEntry entry =
        simcuda::Kernel<&count_up>::make_entry("count_up", simcuda::translation_unit);
    simcuda::translation_unit.kernels = &entry;
    return &simcuda::translation_unit;
}
#endif

namespace {

using namespace soak;
using Clock = std::chrono::steady_clock;

constexpr std::size_t bytes = 64 << 10;
constexpr int workers = 3;

Calls calls;
CUcontext context = nullptr;

[[gnu::noinline]] void launch(CUfunction function, CUdeviceptr x, unsigned grid, CUstream stream) {
    void* parameters[] = {&x};
    calls.launch(function, grid, 1u, 1u, 1u, 1u, 1u, 0u, stream, parameters, nullptr);
}

/// The same call from as many stacks as there are depths.
[[gnu::noinline]] void launch_deep(int depth, CUfunction function, CUdeviceptr x, unsigned grid,
                                   CUstream stream) {
    if (depth > 0)
        launch_deep(depth - 1, function, x, grid, stream);
    else
        launch(function, x, grid, stream);
    asm volatile(""); // no tail call: each depth is a frame
}

void copy_around(CUdeviceptr device, char* pinned, CUstream stream) {
    char pageable[1000] = {};
    for (int i = 0; i < 20; ++i)
        calls.to_device_async.moving(4096)(device, static_cast<const void*>(pinned), std::size_t{4096}, stream);
    for (int i = 0; i < 10; ++i) {
        calls.to_device.moving(sizeof pageable)(device, static_cast<const void*>(pageable), sizeof pageable);
        calls.to_host.moving(sizeof pageable)(static_cast<void*>(pageable), device, sizeof pageable);
        calls.to_host_async.moving(bytes)(static_cast<void*>(pinned), device, bytes, stream);
        calls.on_device_async.moving(bytes / 2)(device, device + bytes / 2, bytes / 2, stream);
    }
}

/// What a thread does in its short life.
void work(CUfunction function) {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr device = 0, managed = 0;
    void* pinned = nullptr;
    calls.set_current(context);
    calls.create_stream(&stream, unsigned{CU_STREAM_NON_BLOCKING});
    calls.create_event(&event, unsigned{CU_EVENT_DISABLE_TIMING});
    calls.allocate(&device, bytes);
    calls.allocate_managed(&managed, bytes, unsigned{CU_MEM_ATTACH_GLOBAL});
    calls.allocate_host(&pinned, bytes, 0u);
    calls.set_async(device, static_cast<unsigned char>(0), bytes, stream);
    for (int i = 0; i < 400; ++i)
        launch_deep(i % 7, function, device, 1 + static_cast<unsigned>(i) % 5, stream);
    copy_around(device, static_cast<char*>(pinned), stream);
    for (int i = 0; i < 10; ++i) {
        CUdeviceptr passing = 0;
        calls.allocate_async(&passing, bytes, stream);
        launch(function, passing, 1, stream);
        calls.free_async(passing, stream);
        calls.record_event(event, stream);
        calls.wait_event(stream, event, 0u);
    }
    for (int i = 0; i < 3; ++i) {
        launch(function, managed, 1, stream);
        calls.synchronize_stream(stream);
        *reinterpret_cast<volatile float*>(managed) = 1; // brings it back to the host
    }
    calls.synchronize_event(event);
    calls.synchronize_stream(stream);
    calls.free(device);
    calls.free(managed);
    calls.free_host(pinned);
    calls.destroy_event(event);
    calls.destroy_stream(stream);
}

/// A GPU module for one launch.
void reload_module(CUdeviceptr x) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    calls.load_module(&module, kernel_image());
    calls.get_function(&function, module, "count_up");
    launch(function, x, 1, nullptr);
    calls.synchronize_context();
    calls.unload_module(module);
}

/// A shared object that comes, stands on recorded stacks, and goes.
void pass_through_plugin(const std::string& path, CUfunction function, CUdeviceptr x) {
    struct Launch {
        CUfunction function;
        CUdeviceptr x;
    } what{function, x};
    void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    using Call = void (*)(void (*)(void*), void*);
    const auto call = plugin != nullptr ? reinterpret_cast<Call>(dlsym(plugin, "soak_plugin_call")) : nullptr;
    if (call == nullptr)
        fail("dlopen", 0);
    for (int i = 0; i < 20; ++i)
        call(
            [](void* to) {
                launch(static_cast<Launch*>(to)->function, static_cast<Launch*>(to)->x, 1, nullptr);
            },
            &what);
    dlclose(plugin);
}

enum class Child { leaves, execs, exits };

void fork_child(Child kind) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (kind == Child::execs)
            execl("/bin/true", "true", nullptr);
        if (kind == Child::exits)
            std::exit(0); // with exit handlers
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("child", status);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: soak SECONDS ROUNDS_PER_SECOND PLUGIN PLUGIN\n");
        return 2;
    }
    const double rate = std::atof(argv[2]);
    const long rounds = static_cast<long>(std::atof(argv[1]) * rate);
    calls.find();
    calls.initialize(0u);
    calls.retain(&context, 0);
    calls.set_current(context);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr x = 0;
    calls.load_module(&module, kernel_image());
    calls.get_function(&function, module, "count_up");
    calls.allocate(&x, bytes);
    long warm = 0;
    const auto start = Clock::now();
    for (long round = 0; round < rounds; ++round) {
        if (round == rounds / 5)
            warm = bench::anonymous_kib();
        std::vector<std::thread> threads;
        for (int i = 0; i < workers; ++i)
            threads.emplace_back(work, function);
        if (round % 4 == 0)
            fork_child(Child::leaves);
        if (round % 4 == 2)
            fork_child(Child::execs);
        reload_module(x);
        pass_through_plugin(argv[3 + round % 2], function, x);
        for (std::thread& thread : threads)
            thread.join();
        if (round % 16 == 0)
            fork_child(Child::exits); // no other thread holds a lock that the handlers want
        calls.synchronize_context();
        std::this_thread::sleep_until(start +
                                      std::chrono::duration<double>(static_cast<double>(round + 1) / rate));
    }
    const long end = bench::anonymous_kib();
    calls.free(x);
    calls.unload_module(module);
    std::printf("{\"rounds\": %ld, \"threads\": %ld, \"warm_kib\": %ld, \"end_kib\": %ld, ", rounds,
                rounds * workers, warm, end);
    calls.print();
    std::printf("}\n");
    return 0;
}
