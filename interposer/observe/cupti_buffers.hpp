/// Memory for CUPTI's activity records.
#pragma once

#include "interposer/record/mutex.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// A bounded pool of buffers on their way from us to CUPTI, which fills them, and back. CUPTI drops and counts
/// records while it is given none. Thread-safe; short locks only, since CUPTI asks in calls of the program.
class CuptiBuffers {
public:
    static constexpr std::size_t buffer_bytes = 256 * 1024; ///< some 2,500 records
    static constexpr std::size_t most = 32;

    constexpr CuptiBuffers() noexcept = default;
    CuptiBuffers(const CuptiBuffers&) = delete;
    CuptiBuffers& operator=(const CuptiBuffers&) = delete;

    /// Reserves the memory, once. False where there is none.
    bool reserve() noexcept;

    /// An empty buffer of buffer_bytes for CUPTI; null: none is left.
    std::uint8_t* take() noexcept;

    /// CUPTI is done with `buffer`, the first `valid_bytes` of which hold records.
    void complete(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;

    struct Complete {
        std::uint8_t* bytes = nullptr; ///< null: there is none
        std::size_t valid_bytes = 0;
    };
    /// The oldest complete buffer, which is the caller's until give_back().
    Complete next() noexcept;
    void give_back(std::uint8_t* buffer) noexcept;

private:
    std::size_t number_of(const std::uint8_t* buffer) const noexcept;

    record::Mutex mutex_{record::Lock::tables};
    std::uint8_t* memory_ = nullptr;
    bool used_[most] = {};
    Complete complete_[most] = {}; ///< a ring
    std::size_t first_ = 0, count_ = 0;
};

} // namespace umadvisor::observe
