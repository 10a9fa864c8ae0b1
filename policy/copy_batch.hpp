/// Which small copies follow each other so closely that they can be made as one call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// A small copy of the program's to the device, which is to be compared with those before it.
struct SmallCopy {
    std::uint64_t thread; ///< of the program, by any number
    std::uint64_t stream; ///< handle
    std::uint64_t destination, source, bytes;
    std::uint64_t destination_allocation, source_allocation; ///< ids
    bool synchronous = false;                                ///< of pageable memory, in the legacy stream

    std::uint64_t end() const noexcept { return destination + bytes; }
};

/// The latest copies of one thread to one stream, without another call between them: a run. The driver makes
/// the first ones, unless the run before was long; what is deferred after them becomes one call, in which
/// neighbours are one piece.
///
/// The driver reads the source of such a copy at the call if the stream has no work, and else in the order of
/// the stream, since work may still write it. So bytes are captured where a run begins without such work:
/// copies of the run itself write no source. Of a run that is there already only the first can be known.
///
/// Of a synchronous copy the driver waits for all that the legacy stream orders before it reads the source. So
/// it makes the first of each run, which is the wait, and later ones are deferred only where nothing is to be
/// waited for, with their bytes captured.
class CopyBatch {
public:
    /// Copies that the driver makes before one is deferred. After a batch that was hardly worth it, twice as
    /// many.
    static constexpr std::uint32_t least_patience = 2, most_patience = 1u << 20;
    static constexpr std::uint32_t worth_it = 4;            ///< calls that a batch has spared
    static constexpr std::uint64_t less_than = 32u << 10;   ///< bytes of a copy
    static constexpr std::uint64_t most_synchronous = 4096; ///< bytes of a synchronous one
    static constexpr std::uint32_t most_copies = 1024;      ///< the device is not to wait for more
    static constexpr std::uint64_t most_bytes = 1u << 20;   ///< nor for more than these
    static constexpr std::uint64_t captured_alignment = 64; ///< of a piece in memory of ours

    /// How what is deferred will be made.
    struct Manner {
        bool captured; ///< the bytes are copied to memory of ours at once: the stream had no work
        bool in_order; ///< by a call for each piece, not by one call in which pieces have no order
    };

    enum class Choice {
        leave,         ///< to the driver
        begin,         ///< to defer: the run is only beginning
        begin_if_idle, ///< the same if the stream has no work
        defer,
        make_first,    ///< what is deferred, since there is no room or an overlap; then defer
        leave_if_idle, ///< else defer: the stream would have no work without what was deferred
    };

    static constexpr bool is_small(const SmallCopy& copy) noexcept {
        return copy.synchronous ? copy.bytes <= most_synchronous : copy.bytes < less_than;
    }

    /// Arrays as cuMemcpyBatchAsync takes them.
    struct Pieces {
        std::uint64_t destination[most_copies], source[most_copies];
        std::size_t bytes[most_copies];
        std::uint64_t destination_allocation[most_copies], source_allocation[most_copies];
        std::uint32_t count;
    };

    Choice choose(const SmallCopy& copy) const noexcept;

    /// The driver has made the copy.
    void made(const SmallCopy& copy) noexcept;
    /// The thread has made another copy. Of synchronous ones it does not matter which thread.
    void interrupt(std::uint64_t thread) noexcept {
        if (thread == last_.thread || last_.synchronous)
            length_ = 0;
    }

    /// The rest of the run is the driver's.
    void leave() noexcept { left_ = true; }
    /// Copies are deferred from this one on, which is yet to be. use() comes next if bytes are captured.
    void begin(const SmallCopy& copy, Manner manner) noexcept;
    /// Bytes are captured in this memory, of most_bytes.
    void use(char* memory) noexcept {
        memory_ = memory;
        used_ = 0;
    }
    /// The copy, for which there is room, is deferred; reads its bytes there if they are captured.
    void defer(const SmallCopy& copy, const void* bytes) noexcept;

    /// Whether nothing is deferred.
    bool is_empty() const noexcept { return copies_ == 0; }
    Manner manner() const noexcept { return manner_; }
    std::uint64_t stream() const noexcept { return last_.stream; }
    bool is_synchronous() const noexcept { return last_.synchronous; }
    const Pieces& pieces() const noexcept { return pieces_; }

    /// What was deferred is made, by so many calls. The run goes on.
    void took(std::uint32_t calls) noexcept;
    /// The program has made another call: the run is over.
    void end() noexcept {
        open_ = false;
        length_ = 0;
    }

private:
    bool continues(const SmallCopy& copy) const noexcept {
        return copy.thread == last_.thread && copy.stream == last_.stream &&
               copy.synchronous == last_.synchronous;
    }
    bool has_room(const SmallCopy& copy) const noexcept;
    /// Whether it writes what a deferred copy writes.
    bool overlaps(const SmallCopy& copy) const noexcept;
    bool adjoins(const SmallCopy& copy) const noexcept;
    /// Where in memory_ its bytes would be.
    std::uint64_t place(const SmallCopy& copy) const noexcept;

    SmallCopy last_{};
    std::uint32_t length_ = 0; ///< copies of the run; 0: there is none
    std::uint32_t total_ = 0;  ///< copies of the latest run
    std::uint32_t patience_ = least_patience;
    bool left_ = false;
    bool open_ = false;    ///< its copies are deferred
    bool closing_ = false; ///< and are to be no more
    Manner manner_{};
    char* memory_ = nullptr;
    std::uint64_t used_ = 0;           ///< bytes of that memory
    std::uint32_t copies_ = 0;         ///< deferred
    std::uint64_t bytes_ = 0;          ///< deferred
    std::uint64_t low_ = 0, high_ = 0; ///< all that deferred copies write is in between
    Pieces pieces_{};
};

} // namespace umadvisor::policy
