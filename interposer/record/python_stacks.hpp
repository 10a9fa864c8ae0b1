/// Adds Python frames to native stacks.
#pragma once

#include "interposer/record/python_key.hpp"
#include "interposer/record/python_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

class FrameTable;

/// How exactly a call's Python stack is recorded.
enum class PythonDetail : std::uint8_t {
    whole, ///< each frame
    /// By the innermost frame alone: if it and the native stack are those of an earlier call, that call's
    /// frames count for this one, too. For launches, which are too many to read every frame each time.
    innermost,
};

/// A thread's cache of its Python stacks. Belongs to one thread. All zeros: empty.
struct PythonStacks {
    struct Known {
        PythonKey::Value key;
        std::uint32_t id; ///< 0: none
    };
    static constexpr std::size_t sets = 1024, ways = 2;

    Known known[sets][ways];
    std::uint8_t oldest[sets];
    bool asked, main; ///< whether the thread is the process's first, once asked
    CheckedMemory memory;

    std::uint32_t find(const PythonKey::Value& key) const noexcept {
        for (const Known& each : known[key.low % sets])
            if (each.key == key && each.id != 0)
                return each.id;
        return 0;
    }
    void remember(const PythonKey::Value& key, std::uint32_t id) noexcept {
        known[key.low % sets][oldest[key.low % sets]++ % ways] = {key, id};
    }
    /// The pages are given to another thread. Entries stay valid, since their keys are fingerprints of the
    /// content.
    void forget() noexcept { asked = false; }
};

/// Whether there is an interpreter whose frames may be read.
inline constinit std::atomic<bool> python_is_there{false};

/// Looks for an interpreter, unless one was found. `depth`: frames to keep, at most. Takes the loader's lock.
void look_for_python(int depth) noexcept;

/// The number of the stack made of `native` and the calling thread's Python frames; `native` itself if there
/// are none.
std::uint32_t with_python(PythonStacks& known, FrameTable& frames, std::uint32_t native,
                          PythonDetail detail) noexcept;

} // namespace umadvisor::record
