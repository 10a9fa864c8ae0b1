#include "interposer/act/transports.hpp"

#include "interposer/record/recorder.hpp"
#include "interposer/record/stacks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::act {

namespace {

constexpr std::string_view transports[] = {"libnccl", "libmpi", "libucp", "libucm", "libuct", "libnvshmem"};

/// From the driver's entry point outwards. The runtime has two to four between a caller and the driver.
constexpr int nearest_frames = 8;

/// By number of the stack: number << 1 | verdict. Numbers are never given again.
constinit std::atomic<std::uint64_t> verdicts[1024];
constinit std::atomic_flag told_of_transport{};

} // namespace

bool is_called_by_transport() noexcept {
    const std::uint64_t stack = record::stack();
    if (stack == 0)
        return false;
    std::atomic<std::uint64_t>& known = verdicts[stack % std::size(verdicts)];
    if (const std::uint64_t verdict = known.load(std::memory_order_relaxed); verdict >> 1 == stack)
        return (verdict & 1) != 0;
    const std::string_view library = record::object_on_stack(stack, nearest_frames, transports);
    if (!library.empty() && !told_of_transport.test_and_set(std::memory_order_relaxed))
        record::note("--act rewrite: what %.*s allocates is left to the driver",
                     static_cast<int>(library.size()), library.data());
    known.store(stack << 1 | (library.empty() ? 0 : 1), std::memory_order_relaxed);
    return !library.empty();
}

} // namespace umadvisor::act
