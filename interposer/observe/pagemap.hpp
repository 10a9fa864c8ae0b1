/// Which pages of a range the host has mapped: the present bit of /proc/self/pagemap.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// Open while it lives. Reads by PAGEMAP_SCAN (ioctl_pagemap_scan(2), Linux 6.7), which steps over unmapped
/// memory at once, else entry by entry (Documentation/admin-guide/mm/pagemap.rst). Not thread-safe.
class Pagemap {
public:
    Pagemap() noexcept;
    ~Pagemap() noexcept;
    Pagemap(const Pagemap&) = delete;
    Pagemap& operator=(const Pagemap&) = delete;

    /// Why it cannot be used, or null. A kernel that shows no page of ours (gVisor) cannot.
    const char* trouble() const noexcept { return trouble_; }

    /// Whether PAGEMAP_SCAN is there.
    bool scans() const noexcept { return scans_; }

    /// Entry by entry from now on.
    void forbid_scan() noexcept { scans_ = false; }

    /// Undoes forbid_scan(), where PAGEMAP_SCAN was there.
    void allow_scan() noexcept { scans_ = true; }

    /// Whether the page at `address` is mapped, or swapped out. Else the program has not touched it.
    bool touched(std::uint64_t address) noexcept;

    /// Calls `visit(to, first, last)` for each run of mapped pages inside the page-aligned [first, last), in
    /// order. Returns how far it got: `last`, or less on trouble and where runs are very many.
    std::uint64_t visit_present(std::uint64_t first, std::uint64_t last,
                                void (*visit)(void* to, std::uint64_t first, std::uint64_t last),
                                void* to) noexcept;

    static std::uint64_t page_bytes() noexcept;

private:
    std::uint64_t scan(std::uint64_t first, std::uint64_t last,
                       void (*visit)(void*, std::uint64_t, std::uint64_t), void* to) noexcept;
    std::uint64_t read_entries(std::uint64_t first, std::uint64_t last,
                               void (*visit)(void*, std::uint64_t, std::uint64_t), void* to) noexcept;

    int file_;
    bool scans_ = false;
    const char* trouble_ = nullptr;
};

} // namespace umadvisor::observe
