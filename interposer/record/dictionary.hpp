/// The chunks of definitions, one stream for the process.
#pragma once

#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/mutex.hpp"

#include <cstdint>

namespace umadvisor::record {

/// Thread-safe: everything happens under its lock.
class Dictionary {
public:
    constexpr Dictionary() noexcept = default;

    template <class Record>
    void define(const Record& record) noexcept;

    void seal() noexcept;

private:
    bool renew(std::size_t bytes) noexcept;
    void seal_and_keep() noexcept;

    Mutex mutex_{Lock::dictionary};
    ChunkWriter chunk_{};
    std::uint32_t sequence_ = 0;
};

extern constinit Dictionary dictionary;

} // namespace umadvisor::record
