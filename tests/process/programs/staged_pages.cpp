// Staged copies of pages that the program opens when they are touched.
#include "staged.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

char* guarded = nullptr;
constexpr std::size_t guarded_bytes = 8 * mib, part = 256 * 1024;
volatile std::sig_atomic_t faults = 0;

/// Where in the guarded pages.
std::uint64_t place_of(const siginfo_t* info) {
    const std::uint64_t at = number(info->si_addr);
    if (at < number(guarded) || at >= number(guarded) + guarded_bytes)
        _exit(99);
    __atomic_add_fetch(&faults, 1, __ATOMIC_RELAXED);
    return at - number(guarded);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, nullptr);
}

void open_part(int, siginfo_t* info, void*) {
    mprotect(guarded + place_of(info) / part * part, part, PROT_READ | PROT_WRITE);
}

int file = -1;

/// The file grows up to the end of a part of the mapping. Another thread may have filled it by then: nothing is
/// cut off or written.
void extend_file(int, siginfo_t* info, void*) {
    if (fallocate(file, 0, 0, static_cast<off_t>((place_of(info) / part + 1) * part)) != 0)
        _exit(98);
}

} // namespace

/// As garbage collectors and checkpointers do: pages are opened when they are touched.
void copy_guarded_pages() {
    const Copies copies;
    auto* const range = static_cast<char*>(
        mmap(nullptr, guarded_bytes + mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    guarded = reinterpret_cast<char*>((number(range) + mib - 1) & ~std::uint64_t{mib - 1});
    handle(SIGSEGV, open_part);
    for (std::size_t i = 0; i < guarded_bytes; ++i)
        guarded[i] = static_cast<char>(i * 7 >> 9);
    const CUdeviceptr memory = allocate(guarded_bytes);
    std::vector<std::uint8_t> back(guarded_bytes);
    mprotect(guarded, guarded_bytes, PROT_NONE);
    std::printf("up %d\n", copies.up(memory, guarded, guarded_bytes));
    std::printf("faults %s\n", faults >= 32 ? "yes" : "no");
    show("down", copies.down(back.data(), memory, guarded_bytes), back);
    mprotect(guarded, guarded_bytes, PROT_NONE);
    faults = 0;
    std::printf("down %d\n", copies.down(guarded, memory, guarded_bytes));
    std::printf("faults %s\n", faults >= 32 ? "yes" : "no");
    std::printf("%s\n", std::memcmp(guarded, back.data(), guarded_bytes) == 0 ? "same" : "different");
}

/// As databases do: a file's pages are mapped before it has them.
void copy_truncated_file() {
    const Copies copies;
    file = memfd_create("truncated", 0);
    guarded = static_cast<char*>(mmap(nullptr, guarded_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    handle(SIGBUS, extend_file);
    const CUdeviceptr memory = allocate(guarded_bytes);
    std::vector<std::uint8_t> data(guarded_bytes), back(guarded_bytes);
    must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory, 0x11, guarded_bytes), "set");
    std::printf("up %d\n", copies.up(memory, guarded, guarded_bytes));
    std::printf("faults %s\n", faults != 0 ? "yes" : "no");
    show("down", copies.down(back.data(), memory, guarded_bytes), back);
    fill(data, 1);
    std::printf("up %d\n", copies.up(memory, data.data(), guarded_bytes));
    must(ftruncate(file, 0) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "truncate");
    faults = 0;
    std::printf("down %d\n", copies.down(guarded, memory, guarded_bytes));
    std::printf("faults %s\n", faults != 0 ? "yes" : "no");
    std::printf("%s\n", std::memcmp(guarded, data.data(), guarded_bytes) == 0 ? "same" : "different");
}
