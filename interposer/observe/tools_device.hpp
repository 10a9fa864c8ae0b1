/// Access to the driver's tools interface: /dev/nvidia-uvm-tools, or simcuda's stand-in for it.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// One tracker: a ring of events or an array of counters that the driver's unified-memory module writes for
/// this process. Trivial to destroy: close() ends it. Not thread-safe.
class ToolsTracker {
public:
    constexpr ToolsTracker() noexcept = default;
    ToolsTracker(const ToolsTracker&) = delete;
    ToolsTracker& operator=(const ToolsTracker&) = delete;

    /// `ring` has room for `entries` residency::tools::Entry, a power of two, and `control` is their Control;
    /// without entries `control` is an array of counters. Both must not be unmapped before close(). They are
    /// shared mappings: the module keeps the pages that it was given, and after fork(2) a write to a private
    /// page would give the process another one. Null, or why it failed: a static text.
    const char* open(void* ring, std::uint64_t entries, void* control) noexcept;

    /// Switches events or counters (bit n: type or counter n); false if the driver refuses.
    bool enable(std::uint64_t flags) noexcept;
    bool disable(std::uint64_t flags) noexcept;

    /// Whether the descriptor is still open: some programs close all their descriptors, this one too.
    bool alive() const noexcept;

    /// Ends the driver's writes. Does not close another file that has the descriptor's number by now.
    void close() noexcept;

    /// Has the driver write events of finished work to all rings of this process.
    void flush() const noexcept;

    /// The module's number of device `uuid` (16 bytes), 0 if it has none.
    std::uint32_t processor(const void* uuid) const noexcept;

private:
    /// A descriptor and what it was when it was ours: the program may have closed it and opened another file
    /// under its number.
    struct Descriptor {
        int number = -1; ///< or simcuda's number of the tracker
        std::uint64_t device = 0, inode = 0;
    };
    static Descriptor describe(int number) noexcept;
    static bool same(const Descriptor& descriptor) noexcept;
    static bool command(const Descriptor& to, unsigned long number, void* parameters) noexcept;
    bool turn(unsigned long number, std::uint64_t flags) noexcept;

    Descriptor tracker_;
    Descriptor module_; ///< the program's own
    bool ring_ = false;
};

} // namespace umadvisor::observe
