// CUDA calls by a thread that holds one of the loader's locks, while another thread makes calls too. The driver
// waits for neither lock, so a program may do this; a lock of ours that is held by who waits for the loader
// would stop both for good.
#include "driver_program.hpp"

#include <atomic>
#include <link.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

std::atomic<bool> inside{false};
CUdeviceptr target = 0;

/// Asked for before anything begins: asking is a look-up too.
struct Driver {
    CUcontext context = make_context();
    decltype(&cuCtxSetCurrent) set_current = ASK("cuCtxSetCurrent", cuCtxSetCurrent);
    decltype(&cuMemAlloc_v2) alloc = ASK("cuMemAlloc", cuMemAlloc_v2);
    decltype(&cuMemFree_v2) free = ASK("cuMemFree", cuMemFree_v2);
    decltype(&cuMemcpyHtoD_v2) copy = ASK("cuMemcpyHtoD", cuMemcpyHtoD_v2);
};
const Driver* driver = nullptr;

void let_the_other_come() {
    inside.store(true);
    usleep(50'000);
}

void wait_for_inside() {
    while (!inside.load())
        std::this_thread::yield();
}

void allocate() {
    CUdeviceptr memory = 0;
    must(driver->alloc(&memory, 4096), "alloc");
    must(driver->free(memory), "free");
}

void look_up_from_a_walk() {
    std::thread walker([] {
        dl_iterate_phdr(
            [](dl_phdr_info*, std::size_t, void*) {
                let_the_other_come();
                return dlsym(RTLD_DEFAULT, "no_such_symbol") == nullptr ? 1 : 2;
            },
            nullptr);
    });
    wait_for_inside();
    std::printf("%d\n", dlsym(RTLD_DEFAULT, "no_such_symbol_either") == nullptr);
    walker.join();
}

void call_from_a_walk() {
    std::thread walker([] {
        must(driver->set_current(driver->context), "set");
        dl_iterate_phdr(
            [](dl_phdr_info*, std::size_t, void*) {
                let_the_other_come();
                allocate();
                return 1;
            },
            nullptr);
    });
    wait_for_inside();
    allocate();
    walker.join();
}

/// From a page that nobody has copied from before.
void copy_from_fresh_memory() {
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(driver->copy(target, page, 4096), "copy");
}

void load_library(const std::string& program) {
    std::thread loader([&] {
        must(driver->set_current(driver->context), "set");
        const std::string plugin =
            program.substr(0, program.rfind('/') + 1) + "plugins/libconstructor_plugin.so";
        if (dlopen(plugin.c_str(), RTLD_NOW) == nullptr)
            std::exit(4);
    });
    wait_for_inside();
    copy_from_fresh_memory();
    loader.join();
}

} // namespace

/// What the plug-in's constructor does.
extern "C" void in_constructor() {
    let_the_other_come();
    copy_from_fresh_memory();
}

int main(int argc, char** argv) {
    const std::string_view scenario = argc > 1 ? argv[1] : "";
    alarm(10); // a dead lock is death
    const Driver found;
    driver = &found;
    must(driver->alloc(&target, 4096), "alloc");
    if (scenario == "look-up")
        look_up_from_a_walk();
    else if (scenario == "call")
        call_from_a_walk();
    else if (scenario == "constructor")
        load_library(argv[0]);
    else
        return 2;
    std::puts("went on");
    return 0;
}
