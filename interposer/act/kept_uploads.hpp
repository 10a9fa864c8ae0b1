/// The bytes of uploads, kept twice: in memory of ours on the host, to compare with, and on the device, to copy
/// from. All functions are thread-safe; none is called with a lock of ours.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/attach/entries.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

struct KeptUpload {
    enum class State : std::uint8_t { unused, kept, given_up };

    CUcontext context = nullptr;
    char* host = nullptr;     ///< mapped
    CUdeviceptr device = 0;   ///< holds the same bytes as `host`, always
    CUevent passed = nullptr; ///< the latest copy from `device`, and what its stream had before it, is done
    std::uint64_t bytes = 0;
    CUdevice ordinal = -1;
    std::uint16_t number = 0; ///< of the context (observe/contexts.hpp)
    State state = State::unused;
};

/// Memory for an upload to `context`, which is current: on the device at most an eighth of what is free, on the
/// host a sixteenth. Null: that is in use, or there are too many; or, by `answer`, the driver refused.
KeptUpload* keep_upload(CUcontext context, std::uint64_t bytes, CUresult& answer) noexcept;

/// Has both sides hold the bytes at `source`, in a stream of its own: waits for nothing that the program does.
/// Its context is current. `stack`: of the program's upload. After a failure they may differ.
CUresult fill(KeptUpload& kept, const char* source, std::uint64_t stack) noexcept;

/// Whether the host's side holds the bytes at `source`.
bool holds(const KeptUpload& kept, const char* source) noexcept;

/// It is not used any more. Its memory is freed later: cuMemFree waits for all work of the context.
void give_up(KeptUpload& kept) noexcept;

/// Frees what was given up, where the program itself waits so long. Returns whether there was anything.
bool free_given_up() noexcept;

/// The context has been destroyed, and what was kept there.
void forget_kept_uploads(std::uint16_t context_number) noexcept;

/// Bytes on this device (-1: on all).
std::uint64_t kept_upload_bytes(CUdevice device) noexcept;

/// Memory was refused: half as much is kept from now on.
void halve_kept_uploads() noexcept;

} // namespace umadvisor::act
