#include "interposer/runtime/failures.hpp"

#include "interposer/control/server.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/taking.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/recordings.hpp"

#include <algorithm>
#include <atomic>
#include <cuda.h>
#include <iterator>

namespace umadvisor::runtime {

namespace {

/// A result after which programs often end (CUDA driver API, CUresult). After one that is `sticky` every call
/// fails.
struct Failure {
    CUresult status;
    bool sticky;
    const char* text;
};
constexpr Failure failures[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, false, "out of memory"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, true, "uncorrectable ECC error"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, true, "illegal memory access"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, true, "launch timeout"},
    {CUDA_ERROR_ASSERT, true, "assertion in a kernel"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, true, "hardware stack error"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, true, "illegal instruction"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, true, "misaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, true, "invalid address space"},
    {CUDA_ERROR_INVALID_PC, true, "invalid program counter"},
    {CUDA_ERROR_LAUNCH_FAILED, true, "launch failure"},
};

// Programs go on after a lack of memory, and run out of it again.
constexpr std::uint64_t least_between = 60'000'000'000; ///< nanoseconds
constexpr int most_snapshots = 8;

constinit std::atomic<const Failure*> noted{nullptr}; ///< is to be looked at
constinit std::atomic<bool> is_stuck{false};          ///< a sticky one was noted

} // namespace

void note_failure(std::uint64_t status) noexcept {
    const Failure* const found =
        std::find_if(std::begin(failures), std::end(failures), [status](const Failure& each) {
            return static_cast<std::uint64_t>(each.status) == status;
        });
    if (found == std::end(failures) || is_stuck.load(std::memory_order_relaxed))
        return;
    const Failure* none = nullptr;
    if (noted.compare_exchange_strong(none, found))
        control::wake();
}

void snapshot_after_failure() noexcept {
    static std::uint64_t last = 0; // CLOCK_MONOTONIC
    static int snapshots = 0;
    const Failure* const what = noted.load(std::memory_order_acquire);
    if (what == nullptr)
        return;
    is_stuck.store(what->sticky, std::memory_order_relaxed);
    const std::uint64_t now = record::monotonic_nanoseconds();
    if (record::keeps() && snapshots < most_snapshots &&
        (what->sticky || last == 0 || now - last >= least_between)) {
        last = now;
        ++snapshots;
        static Outcome outcome;
        outcome = {};
        snapshot("", false, what->text, outcome);
        if (outcome.error != nullptr)
            say("%s: the last part of the run was not written apart: %s", what->text, outcome.error);
        else
            say("%s: wrote the last part of the run; read it with: umadvisor report %s", what->text,
                outcome.file);
    }
    noted.store(nullptr, std::memory_order_release);
}

} // namespace umadvisor::runtime
