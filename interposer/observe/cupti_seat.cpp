#include "interposer/observe/cupti_seat.hpp"

#include <cstdio>
#include <iterator>

namespace umadvisor::observe {

namespace cupti = residency::cupti;

namespace {

/// Only the seat is wanted: no callback is enabled.
void ignore_callback(void*, std::uint32_t, std::uint32_t, const void*) {}

const char* refusal(const CuptiLibrary& library, CuptiLibrary::Result result) {
    static char text[160];
    if (result == cupti::multiple_subscribers_not_supported)
        return "another profiler already uses CUPTI in this process";
    const char* name = nullptr;
    if (library.result_text(result, &name) != cupti::success || name == nullptr)
        name = "unknown error";
    std::snprintf(text, sizeof text, "CUPTI refuses its unified-memory counters (%d: %s)", result, name);
    return text;
}

CuptiLibrary::Result switch_on(const CuptiLibrary& library, cupti::BufferRequested requested,
                               cupti::BufferCompleted completed) {
    cupti::CounterConfig configs[cupti::last_counter_kind];
    for (std::uint32_t i = 0; i < std::size(configs); ++i)
        configs[i] = {cupti::single_device_scope, static_cast<cupti::CounterKind>(i + 1), 0, 1};
    CuptiLibrary::Result result = library.register_callbacks(requested, completed);
    if (result == cupti::success)
        result = library.configure(configs, std::size(configs));
    if (result == cupti::success)
        result = library.enable(cupti::unified_memory_counter);
    return result;
}

} // namespace

/// Activity alone would push another user of the same library off its callbacks without a word: the seat is
/// asked for first.
const char* take_cupti_seat(const CuptiLibrary& library, cupti::BufferRequested requested,
                            cupti::BufferCompleted completed) noexcept {
    void* subscriber = nullptr;
    CuptiLibrary::Result result = library.subscribe(&subscriber, &ignore_callback, nullptr);
    if (result != cupti::success)
        return refusal(library, result);
    result = switch_on(library, requested, completed);
    if (result == cupti::success)
        return nullptr;
    library.unsubscribe(subscriber);
    return refusal(library, result);
}

} // namespace umadvisor::observe
