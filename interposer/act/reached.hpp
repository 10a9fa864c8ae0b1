/// What the calling thread's launches have reached since it last waited for them.
#pragma once

#include "interposer/observe/touched.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/mix.hpp"

#include <cstdint>

namespace umadvisor::act {

/// What a wait covered.
struct Wait {
    enum class For : std::uint8_t { part, stream, everything };
    For what;
    std::uint64_t stream; ///< explicit handle
    std::uint64_t stack;  ///< id of the call stack
    std::uint64_t begun;  ///< CLOCK_MONOTONIC, nanoseconds; 0: not known
};

/// Plain data of one thread, all zeros when empty. What it has no room for is left out.
class Reached {
public:
    void add(const observe::Touched& touched, std::uint64_t stream) noexcept {
        for (std::uint32_t i = 0; i < touched.managed_count && count_ < most; ++i)
            if (const Entry entry{touched.managed[i].id, touched.managed[i].address, canonical(stream)};
                !has(entry))
                entries_[count_++] = entry;
    }

    /// Where in the program, after launches that reached what.
    struct Place {
        std::uint64_t here;    ///< the same whenever it waits there for launches that reached the same
        std::uint64_t in_runs; ///< the same in each run, too; 0: not known
    };

    /// Takes out what `wait` covers and calls `visit(allocation, address)` for each. `name_of(allocation)` is
    /// its name in each run, 0 where it has none.
    template <class NameOf, class Visit>
    void take(const Wait& wait, Place& place, NameOf&& name_of, Visit&& visit) noexcept {
        if (wait.what == Wait::For::part)
            return;
        const auto covered = [&](const Entry& entry) {
            return wait.what == Wait::For::everything || entry.stream == canonical(wait.stream);
        };
        place = {wait.stack, record::stack_key(wait.stack)};
        for (std::uint32_t i = 0; i < count_; ++i)
            if (covered(entries_[i])) {
                place.here = policy::mix(place.here, entries_[i].address);
                place.in_runs = policy::mix_known(place.in_runs, name_of(entries_[i].allocation));
            }
        std::uint32_t left = 0;
        for (std::uint32_t i = 0; i < count_; ++i)
            if (covered(entries_[i]))
                visit(entries_[i].allocation, entries_[i].address);
            else
                entries_[left++] = entries_[i];
        count_ = left;
    }

private:
    static constexpr std::uint32_t most = 256;
    struct Entry {
        std::uint64_t allocation, address, stream;
        bool operator==(const Entry&) const = default;
    };

    /// The legacy stream has two names.
    static std::uint64_t canonical(std::uint64_t stream) noexcept {
        return reinterpret_cast<CUstream>(stream) == CU_STREAM_LEGACY ? 0 : stream;
    }
    bool has(const Entry& entry) const noexcept {
        for (std::uint32_t i = 0; i < count_; ++i)
            if (entries_[i] == entry)
                return true;
        return false;
    }

    std::uint32_t count_ = 0;
    Entry entries_[most] = {};
};

} // namespace umadvisor::act
