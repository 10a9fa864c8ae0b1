/// Managed allocations that kernels reach through pointers in other memory.
#pragma once

#include "interposer/observe/touched.hpp"

#include <cstdint>

namespace umadvisor::act {

/// Finds pointers to managed allocations in small allocations that launches reach: arrays of pointers, and
/// structures with pointers in them. It reads managed memory while it is on the host, and what the program
/// copies to a small allocation. Memory on the device is not read, since that would migrate it back; what was
/// found in it before still counts. Not thread-safe: the owner's lock covers it.
class Pointees {
public:
    static constexpr std::uint64_t most_bytes = 64 * 1024; ///< of an allocation that is read

    constexpr Pointees() noexcept = default;
    Pointees(const Pointees&) = delete;
    Pointees& operator=(const Pointees&) = delete;

    /// Reads `holder` if it is small enough and mapped by the host. Costs system calls.
    void read(const observe::Allocation& holder) noexcept;

    /// The program has copied `bytes` of host memory at `source` to `destination` in `holder`. Returns whether
    /// `holder` is now known to point to managed memory. Costs a system call for each 4 KiB, until
    /// `most_idle_reads` found no pointer.
    bool copied(const observe::Allocation& holder, std::uint64_t destination, std::uint64_t source,
                std::uint64_t bytes) noexcept;

    /// Fills `out.managed` with what `holder` points to, from number `from` on. Returns the number to continue
    /// with; 0 after the last.
    std::uint32_t list(std::uint64_t holder, std::uint32_t from, observe::Touched& out) const noexcept;

    /// Whether `holder` is known to point to managed memory.
    bool points(std::uint64_t holder) const noexcept {
        const Holder& known = holders_[holder % slots];
        return known.id == holder && known.count != 0;
    }

    /// All that `holder` points to was found on the device in this epoch of ResidencyMap.
    void settle(std::uint64_t holder, std::uint64_t epoch) noexcept;
    bool settled(std::uint64_t holder, std::uint64_t epoch) const noexcept;

    void forget(std::uint64_t holder) noexcept;

private:
    static constexpr std::uint32_t most = 4096; ///< pointees of one holder
    static constexpr std::uint32_t slots = 256;
    static constexpr std::uint32_t most_idle_reads =
        4; ///< without a pointer; from then on the allocation counts as data

    struct Holder {
        std::uint64_t id;
        std::uint64_t* addresses; ///< owned; where pointees start, sorted
        std::uint32_t count, idle_reads;
        std::uint64_t settled;
    };

    struct Found;

    /// Null if the allocation counts as data, is too large, or finds its slot in use.
    Holder* open(const observe::Allocation& holder) noexcept;
    static bool make(const Holder& known, std::uint64_t words, Found& found) noexcept;
    static void keep(Holder& known, Found& found) noexcept;

    Holder holders_[slots] = {};
};

} // namespace umadvisor::act
