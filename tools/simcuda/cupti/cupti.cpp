// The part of CUPTI that tells of unified memory, for programs on simcuda: one subscriber a process, and
// activity records of what simcuda's tools device tells, as the real one makes them of the real device. Records
// wait in the device's ring until a flush. Environment, for tests:
//   SIMCUDA_CUPTI_VERSION=N         answers another version than 130000
//   SIMCUDA_CUPTI_REFUSE=NAME:N     that function answers N and does nothing
//   SIMCUDA_CUPTI_ROOM=N            the ring holds so many events, a power of two
#include "tools/simcuda/control.hpp"
#include "tools/simcuda/cupti/counter_records.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

/// How the shim knows that this is no CUPTI of NVIDIA's.
extern "C" const int simcuda_cupti = 1;

namespace simcuda {

namespace {

constexpr std::size_t default_room = 1 << 17;
constexpr std::size_t page = 4096;

struct Buffer {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0, used = 0;
};

struct State {
    std::mutex mutex;
    bool seat_taken = false;
    cupti::BufferRequested requested = nullptr;
    cupti::BufferCompleted completed = nullptr;
    int tracker = 0; ///< of simcuda_uvm_tools; 0: nothing is switched on
    std::uint32_t room = default_room;
    tools::Entry* ring = nullptr;
    tools::Control* control = nullptr;
    CounterRecords records;
    std::size_t refused = 0; ///< records for which there was no buffer
    std::uint64_t told_dropped = 0;
};

State& state() {
    static auto* only = new State; // programs flush from their last destructors
    return *only;
}

/// What SIMCUDA_CUPTI_REFUSE says of this function.
int refusal(const char* function) {
    const char* text = std::getenv("SIMCUDA_CUPTI_REFUSE");
    const std::size_t length = std::strlen(function);
    return text && std::strncmp(text, function, length) == 0 && text[length] == ':'
               ? std::atoi(text + length + 1)
               : cupti::success;
}

/// Through an address that it has looked up, as the real one asks whatever it asks.
bool driver_answers() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    const auto ask = driver ? reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion")) : nullptr;
    int version = 0;
    return ask && ask(&version) == 0;
}

bool open_ring(State& my) {
    if (const char* room = std::getenv("SIMCUDA_CUPTI_ROOM")) {
        my.room = static_cast<std::uint32_t>(std::atoi(room));
    }
    const std::size_t ring_bytes = (my.room * sizeof(tools::Entry) + page - 1) / page * page;
    void* memory = mmap(nullptr, ring_bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    my.ring = static_cast<tools::Entry*>(memory);
    my.control = reinterpret_cast<tools::Control*>(static_cast<std::uint8_t*>(memory) + ring_bytes);
    tools::InitTracker init{};
    init.ring = reinterpret_cast<std::uint64_t>(my.ring);
    init.entries = my.room;
    init.control = reinterpret_cast<std::uint64_t>(my.control);
    init.all_processors = 1;
    my.tracker = simcuda_uvm_tools(-1, tools::InitTracker::command, &init);
    tools::Switch wanted{CounterRecords::wanted_events(), 0, 0};
    return my.tracker > 0 && simcuda_uvm_tools(my.tracker, tools::Switch::enable_events, &wanted) == 0;
}

void hand_over(State& my, Buffer& buffer) {
    if (buffer.bytes) {
        my.completed(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
    }
    buffer = {};
}

void put(State& my, Buffer& buffer, const cupti::CounterRecord& record) {
    if (buffer.size - buffer.used < sizeof record) {
        hand_over(my, buffer);
        std::size_t most = 0;
        my.requested(&buffer.bytes, &buffer.size, &most);
    }
    if (!buffer.bytes || buffer.size < sizeof record) {
        ++my.refused;
        return;
    }
    std::memcpy(buffer.bytes + buffer.used, &record, sizeof record);
    buffer.used += sizeof record;
}

void flush(State& my) {
    if (my.tracker <= 0 || !my.requested) {
        return;
    }
    Buffer buffer;
    const std::uint32_t mask = my.room - 1;
    const std::uint32_t end = __atomic_load_n(&my.control->put_behind, __ATOMIC_ACQUIRE) & mask;
    std::uint32_t at = my.control->get_behind & mask;
    for (; at != end; at = (at + 1) & mask) {
        if (const auto record = my.records.take(my.ring[at])) {
            put(my, buffer, *record);
        }
    }
    my.control->get_ahead = at;
    __atomic_store_n(&my.control->get_behind, at, __ATOMIC_RELEASE);
    hand_over(my, buffer);
}

std::uint64_t dropped(const State& my) {
    std::uint64_t sum = my.refused;
    for (std::size_t type = 0; my.control && type < tools::event_types; ++type) {
        sum += __atomic_load_n(&my.control->lost[type], __ATOMIC_RELAXED);
    }
    return sum;
}

} // namespace

} // namespace simcuda

using namespace simcuda;
using Guard = std::lock_guard<std::mutex>;

#define SIMCUDA_CUPTI_ENTER(function)                                                                          \
    if (const int refused = refusal(#function); refused != cupti::success) {                                   \
        return refused;                                                                                        \
    }

extern "C" {

int cuptiGetVersion(std::uint32_t* version) {
    SIMCUDA_CUPTI_ENTER(cuptiGetVersion)
    const char* other = std::getenv("SIMCUDA_CUPTI_VERSION");
    *version = other ? static_cast<std::uint32_t>(std::atoi(other)) : 130000;
    return cupti::success;
}

int cuptiGetResultString(int result, const char** text) {
    switch (result) {
    case cupti::success:
        *text = "CUPTI_SUCCESS";
        break;
    case cupti::unified_memory_not_supported:
        *text = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED";
        break;
    case cupti::multiple_subscribers_not_supported:
        *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
        break;
    default:
        return cupti::invalid_parameter;
    }
    return cupti::success;
}

int cuptiSubscribe(void** subscriber, cupti::Callback, void*) {
    SIMCUDA_CUPTI_ENTER(cuptiSubscribe)
    const Guard guard(state().mutex);
    if (state().seat_taken) {
        return cupti::multiple_subscribers_not_supported;
    }
    state().seat_taken = true;
    *subscriber = &state();
    return cupti::success;
}

int cuptiUnsubscribe(void* subscriber) {
    const Guard guard(state().mutex);
    if (subscriber != &state() || !state().seat_taken) {
        return cupti::invalid_parameter;
    }
    state().seat_taken = false;
    return cupti::success;
}

int cuptiActivityRegisterCallbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
    SIMCUDA_CUPTI_ENTER(cuptiActivityRegisterCallbacks)
    const Guard guard(state().mutex);
    state().requested = requested;
    state().completed = completed;
    return cupti::success;
}

int cuptiActivityConfigureUnifiedMemoryCounter(cupti::CounterConfig* configs, std::uint32_t count) {
    SIMCUDA_CUPTI_ENTER(cuptiActivityConfigureUnifiedMemoryCounter)
    return configs && count != 0 ? cupti::success : cupti::invalid_parameter;
}

int cuptiActivityEnable(std::uint32_t kind) {
    SIMCUDA_CUPTI_ENTER(cuptiActivityEnable)
    const Guard guard(state().mutex);
    return kind == cupti::unified_memory_counter && driver_answers() && open_ring(state())
               ? cupti::success
               : cupti::unified_memory_not_supported;
}

int cuptiActivityDisable(std::uint32_t) {
    const Guard guard(state().mutex);
    if (state().tracker > 0) {
        simcuda_uvm_tools(state().tracker, 0, nullptr);
        state().tracker = 0;
    }
    return cupti::success;
}

/// As the real one, calls back under its own lock.
int cuptiActivityFlushAll(std::uint32_t) {
    const Guard guard(state().mutex);
    flush(state());
    return cupti::success;
}

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
    auto* next = *record ? static_cast<std::uint8_t*>(*record) + sizeof(cupti::CounterRecord) : buffer;
    if (next + sizeof(cupti::CounterRecord) > buffer + valid_bytes) {
        return cupti::max_limit_reached;
    }
    *record = next;
    return cupti::success;
}

int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* number) {
    const Guard guard(state().mutex);
    const std::uint64_t all = dropped(state());
    *number = all - state().told_dropped;
    state().told_dropped = all;
    return cupti::success;
}

int cuptiGetTimestamp(std::uint64_t* nanoseconds) {
    *nanoseconds = simcuda_clock_ns();
    return cupti::success;
}
}
