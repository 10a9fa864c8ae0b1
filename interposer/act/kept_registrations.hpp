/// What every call of the program does while registrations are kept that the program has ended: for the program
/// their memory is pageable, and no call may find it registered.
#pragma once

#include "interposer/act/attention.hpp"
#include "interposer/attach/entries.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

namespace umadvisor::act {

/// Whether any is kept. One load.
inline bool registrations_are_kept() noexcept {
    return has_attention(Attention::registrations);
}

/// Whether it matters to a call of this name what is registered. It does not to those that name no memory, to
/// those whose memory cannot be the host's, and to launches; those of registrations are seen elsewhere.
constexpr bool finds_registrations(std::string_view name) {
    constexpr std::string_view blind[] = {
        "cuCtxGet",
        "cuCtxPopCurrent",
        "cuCtxPushCurrent",
        "cuCtxSetCurrent",
        "cuCtxSynchronize",
        "cuDeviceGet",
        "cuDriverGet",
        "cuEvent",
        "cuFunc",
        "cuGetError",
        "cuGetProcAddress",
        "cuGraphLaunch",
        "cuKernel",
        "cuLaunch",
        "cuLibrary",
        "cuMemFreeAsync",
        "cuMemFree_v2",
        "cuMemGetInfo",
        "cuMemHostRegister",
        "cuMemHostUnregister",
        "cuModule",
        "cuOccupancy",
        "cuStreamCreate",
        "cuStreamDestroy",
        "cuStreamGet",
        "cuStreamIsCapturing",
        "cuStreamQuery",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
        "cuThreadExchange",
    };
    return std::none_of(std::begin(blind), std::end(blind),
                        [&](std::string_view each) { return name.starts_with(each); });
}

/// What a call's arguments say of the memory that it names.
enum class NamedMemory : std::uint8_t {
    unknown,
    copied, ///< (to, from, bytes)
    set,    ///< (to, value, count of at most 4 bytes)
    freed,  ///< (address)
    made,   ///< where the driver chooses: perhaps where memory was that is registered
};
constexpr NamedMemory named_memory(std::string_view name) {
    if (name == "cuMemFreeHost")
        return NamedMemory::freed;
    if (name.starts_with("cuMemAlloc") || name.starts_with("cuMemHostAlloc"))
        return NamedMemory::made;
    if (name.starts_with("cuMemsetD") && !name.starts_with("cuMemsetD2"))
        return NamedMemory::set;
    for (const std::string_view each : {"cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyDtoD"})
        if (name.starts_with(each))
            return NamedMemory::copied;
    for (const std::string_view each : {"cuMemcpy", "cuMemcpy_ptds", "cuMemcpyAsync", "cuMemcpyAsync_ptsz"})
        if (name == each)
            return NamedMemory::copied;
    return NamedMemory::unknown;
}

/// End those that share pages with the memory; those whose memory is gone; all.
void end_registrations_at(std::uint64_t address, std::uint64_t bytes) noexcept;
void end_unmapped_registrations() noexcept;
void end_all_registrations() noexcept;

template <class Argument>
std::uint64_t word_of(const Argument& argument) noexcept {
    if constexpr (std::is_pointer_v<Argument>)
        return reinterpret_cast<std::uint64_t>(argument);
    else if constexpr (std::is_integral_v<Argument>)
        return static_cast<std::uint64_t>(argument);
    else
        return 0;
}

/// Called before a call of entry E that is wrapped: ends the registrations that it may find.
template <attach::Entry E, class... Arguments>
void see_registrations(const Arguments&... arguments) noexcept {
    if constexpr (finds_registrations(attach::name(E))) {
        if (!registrations_are_kept())
            return;
        constexpr NamedMemory named = named_memory(attach::name(E));
        const std::uint64_t words[] = {word_of(arguments)..., 0};
        if constexpr (named == NamedMemory::copied) {
            end_registrations_at(words[0], words[2]);
            end_registrations_at(words[1], words[2]);
        } else if constexpr (named == NamedMemory::set) {
            end_registrations_at(words[0], 4 * words[2]);
        } else if constexpr (named == NamedMemory::freed) {
            end_registrations_at(words[0], 1);
        } else if constexpr (named == NamedMemory::made) {
            end_unmapped_registrations();
        } else {
            end_all_registrations();
        }
    }
}

} // namespace umadvisor::act
