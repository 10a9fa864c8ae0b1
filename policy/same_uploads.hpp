/// Uploads that a program makes again and again: of which it is worth keeping the bytes. Plain numbers, without
/// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// Host memory that is copied to a device, wherever in its memory.
struct Upload {
    std::uint64_t source = 0, bytes = 0;
    std::uint16_t context = 0; ///< number (observe/contexts.hpp)

    bool operator==(const Upload&) const = default;
};

/// Has the bytes of an upload kept once it has come back `least_returns` times and a few of its words were the
/// same each time. From then on the bytes are compared; those that are equal need no upload.
///
/// Bytes that differ after all are to be kept again only after more returns: eight times as many as before,
/// unless keeping has paid. Where that is `gives_up_from` or more, the memory is given up meanwhile. So it is
/// if comparing turns out to take longer than the driver's copy, and then for good.
///
/// A thread that begin() has given a turn has the upload, and what is kept for it, for itself until it ends the
/// turn. Memory that is kept is any number but 0. Not thread-safe: the owner's lock covers it. Memory: fixed.
class SameUploads {
public:
    static constexpr std::uint64_t least_bytes = 1u << 20;
    static constexpr std::size_t most = 128; ///< uploads that are watched
    static constexpr std::uint32_t least_returns = 2;
    static constexpr std::uint32_t gives_up_from = 1024, most_patience = 1u << 16; ///< returns
    static constexpr std::uint32_t paid_after = 8;                                 ///< equal uploads
    static constexpr std::uint32_t measured_every = 64; ///< one in so many is the driver's, to compare times
    static constexpr std::uint32_t most_losses = 3;     ///< in a row
    static constexpr std::uint64_t idle_after = 1024;   ///< other uploads

    enum class Choice : std::uint8_t {
        leave,   ///< to the driver; there is no turn
        measure, ///< how long the driver takes, then call made()
        compare, ///< with what is kept, then call equal() or unequal()
    };
    struct Turn {
        Choice choice = Choice::leave;
        std::uint64_t kept = 0; ///< 0: nothing
    };

    constexpr SameUploads() noexcept = default;

    /// The program is about to make the upload. `thread`: by any number but 0.
    Turn begin(const Upload& upload, std::uint64_t thread) noexcept;

    /// Whether this thread has the turn.
    bool has_turn(const Upload& upload, std::uint64_t thread) const noexcept;

    /// Ends the turn, if the thread has it: nothing was learned.
    void leave(const Upload& upload, std::uint64_t thread) noexcept;

    /// Ends the turn, and forgets the upload. Returns what was kept; 0: nothing.
    std::uint64_t drop(const Upload& upload) noexcept;

    /// Ends the turn: the bytes were equal, and to compare them and to copy within the device took so many
    /// ticks. Returns memory that is no longer worth keeping; 0: it stays.
    std::uint64_t equal(const Upload& upload, std::uint64_t ticks) noexcept;

    /// Ends the turn: the bytes differ, and the driver is to copy them. Returns as equal().
    std::uint64_t unequal(const Upload& upload) noexcept;

    /// The driver has made the upload. `words`: a hash of a few of its words; `ticks`: how long it took, 0: not
    /// known. Returns whether this thread has a turn and is to keep the bytes, and then to call keep(). If not,
    /// a turn that it had has ended.
    bool made(const Upload& upload, std::uint64_t thread, std::uint64_t words, std::uint64_t ticks) noexcept;

    /// What the upload has kept, within a turn; 0: nothing.
    std::uint64_t kept(const Upload& upload) const noexcept;

    /// Ends the turn: the bytes are kept in this memory. 0: there was none.
    void keep(const Upload& upload, std::uint64_t memory) noexcept;

    /// Remove memory that is kept: of an upload that has not come for long; of any; of the context; of uploads
    /// from [first, last). Return 0 if there is none. What is in a turn stays.
    std::uint64_t remove_idle() noexcept;
    std::uint64_t remove_any() noexcept;
    std::uint64_t remove_context(std::uint16_t context) noexcept;
    std::uint64_t remove_source(std::uint64_t first, std::uint64_t last) noexcept;

private:
    struct Entry {
        Upload upload;             ///< bytes 0: the entry is unused
        std::uint64_t at = 0;      ///< when it came last, in uploads
        std::uint64_t thread = 0;  ///< that has the turn; 0: none
        std::uint64_t kept = 0;    ///< memory
        std::uint64_t words = 0;   ///< when it came last
        std::uint64_t ticks = 0;   ///< of the driver; 0: not known
        std::uint32_t returns = 0; ///< in a row with the same words, since the bytes were not the same
        std::uint32_t patience = least_returns;
        std::uint32_t equal = 0;  ///< since the bytes were kept
        std::uint32_t losses = 0; ///< in a row
        bool current = false;     ///< what is kept are bytes to compare with
        bool slower = false;      ///< it is left to the driver for good
    };

    const Entry* find(const Upload& upload) const noexcept;
    Entry* find(const Upload& upload) noexcept;
    Entry* enter(const Upload& upload) noexcept;
    template <class Wanted>
    std::uint64_t remove(Wanted&& wanted) noexcept;
    static std::uint64_t give_up(Entry& entry) noexcept;

    Entry entries_[most];
    std::uint64_t uploads_ = 0;
};

} // namespace umadvisor::policy
