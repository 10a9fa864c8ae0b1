/// What is alive in the process, for recordings that begin while it runs.
#pragma once

#include "interposer/base/blocks.hpp"
#include "interposer/base/table.hpp"
#include "interposer/record/life.hpp"
#include "interposer/record/mutex.hpp"
#include "trace/encoder.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

class Sink;

/// The records of allocations, streams, contexts and so on, from when each was made until it ends. Memory grows
/// with what is alive. All functions are called with mutex() held, so that a record is either here when a
/// recording begins, or in one of its chunks.
class Alive {
public:
    constexpr Alive() noexcept = default;

    Mutex& mutex() noexcept { return mutex_; }

    /// Keeps the record if something lives on with it, and forgets what has ended with it.
    template <class Record>
    void note(const Record& record) noexcept {
        if (record.status != 0)
            return;
        Lives<Record> lives{*this, record};
        live(lives, record);
    }

    /// Writes what is kept into chunks of a file, in the order in which it was made. False if they lack some.
    /// The last one is a Pause with `cause`: what came before is not known.
    bool write_to(Sink& file, trace::PauseCause cause) const noexcept;

private:
    static constexpr std::size_t room = 72;
    struct Entry {
        std::uint64_t key;    ///< 0: free
        std::uint64_t number; ///< in the order in which they were made; 0: gone
        std::uint16_t bytes;
        union {
            std::uint8_t here[room];
            void* apart; ///< where `bytes` are more than `room`
        };

        bool free() const noexcept { return key == 0; }
        bool gone() const noexcept { return key != 0 && number == 0; }
        std::uint64_t hash() const noexcept { return key; }
        const std::uint8_t* encoded() const noexcept {
            return bytes <= room ? here : static_cast<const std::uint8_t*>(apart);
        }
    };

    /// What live() calls.
    template <class Record>
    struct Lives {
        Alive& alive;
        const Record& record;

        void keep(std::uint64_t key) const noexcept {
            if (trace::encoded_bound(record) > most_bytes) // never: no such record has a text
                return;
            std::uint8_t bytes[most_bytes];
            trace::DeltaState state;
            alive.keep(key, bytes, static_cast<std::size_t>(trace::encode(bytes, record, state) - bytes));
        }
        void end(std::uint64_t key) const noexcept { alive.end(key); }
    };
    static constexpr std::size_t most_bytes = 256;

    void keep(std::uint64_t key, const std::uint8_t* bytes, std::size_t count) noexcept;
    void end(std::uint64_t key) noexcept;
    void drop(Entry& entry) noexcept;

    Mutex mutex_{Lock::alive};
    base::Table<Entry, base::Searched::under_the_lock> entries_;
    base::Blocks blocks_;
    std::uint64_t made_ = 0;
};

extern constinit Alive alive;

} // namespace umadvisor::record
