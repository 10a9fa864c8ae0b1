/// CUPTI as it is found on the machine: loaded when it is asked for, never linked.
#pragma once

#include "residency/cupti_interface.hpp"

namespace umadvisor::observe {

/// The functions of CUPTI that are used (cupti_activity.h, cupti_callbacks.h). Results are
/// residency::cupti::Result.
struct CuptiLibrary {
    using Result = int;

    Result (*version)(std::uint32_t* version) = nullptr;
    Result (*subscribe)(void** subscriber, residency::cupti::Callback callback, void* user) = nullptr;
    Result (*unsubscribe)(void* subscriber) = nullptr;
    Result (*register_callbacks)(residency::cupti::BufferRequested requested,
                                 residency::cupti::BufferCompleted completed) = nullptr;
    Result (*configure)(residency::cupti::CounterConfig* configs, std::uint32_t count) = nullptr;
    Result (*enable)(std::uint32_t kind) = nullptr;
    Result (*disable)(std::uint32_t kind) = nullptr;
    Result (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, void** record) = nullptr;
    Result (*dropped_records)(void* context, std::uint32_t stream, std::size_t* dropped) = nullptr;
    Result (*flush)(std::uint32_t flag) = nullptr;
    Result (*timestamp)(std::uint64_t* nanoseconds) = nullptr;
    Result (*result_text)(Result result, const char** text) = nullptr;
};

/// Loads CUPTI for good, that of the program where it has loaded one. Null, or why not: a text that stays until
/// the next call. Waits for the loader's lock.
const char* load_cupti(CuptiLibrary& library) noexcept;

} // namespace umadvisor::observe
