/// Copies whose bytes the recorder has looked at.
#pragma once

#include "found.hpp"

#include <boost/test/unit_test.hpp>

namespace umadvisor::test {

/// Device memory that a kernel's parameter has reached, and copies between it and pinned memory.
struct Transfers : Scenario {
    static constexpr std::uint64_t bytes = 8 * mib, copy_ns = 156'000; ///< at the rate of the link
    const std::uint64_t kernel = function("kernel"), allocated = stack(), uploading = stack(),
                        downloading = stack(), setting = stack(), freeing = stack();
    const std::uint64_t table = allocate(bytes, Memory::device, allocated);
    const std::uint64_t other = allocate(bytes, Memory::device);

    Transfers() {
        upload(999);
        launch(kernel, {table, other});
    }
    /// `whole` 0: some bytes were looked at only.
    void upload(std::uint64_t part, std::uint64_t whole = 0, CopyOptions options = {}) {
        options.source = Memory::pinned;
        options.stack = options.stack != 0 ? options.stack : uploading;
        options.to = options.to != 0 ? options.to : table;
        options.part = part;
        options.whole = whole;
        copy(options.height != 0 ? 2 * bytes : bytes, copy_ns, options);
    }
    void download(std::uint64_t part, std::uint64_t whole, CopyOptions options = {}) {
        options.stack = downloading;
        options.from = table;
        options.part = part;
        options.whole = whole;
        Scenario::download(bytes, copy_ns, options);
    }
    /// The host has the time to look at a part of what came down.
    void look() { now += 50'000; }
    /// A kernel that may write it.
    void use() { launch(kernel, {table}); }
    void upload_and_use(std::uint64_t part, std::uint64_t whole = 0, const CopyOptions& options = {}) {
        upload(part, whole, options);
        use();
    }
    /// From 1 on.
    template <class Act>
    void rounds(std::uint64_t count, const Act& act) {
        for (std::uint64_t round = 1; round <= count; ++round)
            act(round);
    }
    Found found() { return findings_of(*this); }
    std::string rules() { return rules_of(found()); }
    Finding one(std::string_view rule) { return lone(found(), rule); }
};

/// Kernels before a copy are taken to run for a moment of it.
inline const auto roughly = boost::test_tools::tolerance(0.02);

} // namespace umadvisor::test
