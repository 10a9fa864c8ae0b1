// The driver that carries work out late: what CUDA orders is in order, and what it does not is not.
#include "tests/unit/simcuda/variant.hpp"

#include <boost/test/data/test_case.hpp>

#include <cstdint>
#include <functional>

namespace data = boost::unit_test::data;

namespace {

const Variant& late_driver() {
    static const Variant only("simcuda-late");
    return only;
}

#define ANSWER(symbol, ...) CALL(late_driver(), symbol, ##__VA_ARGS__)
#define DO(symbol, ...) BOOST_REQUIRE(ANSWER(symbol, ##__VA_ARGS__) == CUDA_SUCCESS)

/// Eight bytes on the device, zero, and as many that are pinned.
struct Memory {
    CUcontext context = nullptr;
    CUdeviceptr device = 0;
    std::uint64_t* pinned = nullptr;

    Memory() {
        void* memory = nullptr;
        DO(cuInit, 0u);
        DO(cuDevicePrimaryCtxRetain, &context, 0);
        DO(cuCtxSetCurrent, context);
        DO(cuMemAlloc_v2, &device, 8u);
        DO(cuMemHostAlloc, &memory, 8u, 0u);
        DO(cuMemsetD8_v2, device, static_cast<unsigned char>(0), 8u);
        DO(cuCtxSynchronize);
        pinned = static_cast<std::uint64_t*>(memory);
    }
    ~Memory() {
        ANSWER(cuCtxSynchronize);
        ANSWER(cuMemFree_v2, device);
        ANSWER(cuMemFreeHost, static_cast<void*>(pinned));
    }
};

CUstream made(bool blocking) {
    CUstream stream = nullptr;
    DO(cuStreamCreate, &stream, static_cast<unsigned>(blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    return stream;
}

void join_by_event(CUstream first, CUstream then) {
    CUevent event = nullptr;
    DO(cuEventCreate, &event, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
    DO(cuEventRecord, event, first);
    DO(cuStreamWaitEvent, then, event, 0u);
}

/// Two streams, and what is done between the write on the first and the read on the second.
struct Way {
    const char* name;
    std::function<CUstream()> first, then;
    std::function<void(CUstream, CUstream)> join;
    bool ordered;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
    return out << way.name;
}

CUstream blocking() {
    return made(true);
}
CUstream free_stream() {
    return made(false);
}
CUstream legacy() {
    return CU_STREAM_LEGACY;
}
CUstream per_thread() {
    return CU_STREAM_PER_THREAD;
}
void nothing(CUstream, CUstream) {}

const Way ways[] = {
    {"two streams", free_stream, free_stream, nothing, false},
    {"two blocking streams", blocking, blocking, nothing, false},
    {"an event", free_stream, free_stream, join_by_event, true},
    {"an event the other way round", free_stream, free_stream,
     [](CUstream first, CUstream then) { join_by_event(then, first); }, false},
    {"a blocking stream before the legacy one", blocking, legacy, nothing, true},
    {"a blocking stream after the legacy one", legacy, blocking, nothing, true},
    {"the thread's own before the legacy one", per_thread, legacy, nothing, true},
    {"a non-blocking stream beside the legacy one", free_stream, legacy, nothing, false},
    {"a blocking stream after another, over the legacy one", blocking, blocking,
     [](CUstream, CUstream) {
         CUdeviceptr other = 0;
         DO(cuMemAlloc_v2, &other, 1u);
         DO(cuMemsetD8Async, other, static_cast<unsigned char>(1), 1u, CU_STREAM_LEGACY);
     },
     true},
};

} // namespace

BOOST_AUTO_TEST_SUITE(late)

/// The device does a little by itself, too: what nothing orders comes in either order.
BOOST_DATA_TEST_CASE(what_streams_order, data::make(ways), way) {
    const Memory context;
    const CUstream first = way.first(), then = way.then();
    int early = 0, too_late = 0;
    for (int i = 0; i < 32; ++i) {
        const Memory memory;
        *memory.pinned = 7;
        DO(cuMemsetD8Async, memory.device, static_cast<unsigned char>(1), 8u, first);
        way.join(first, then);
        DO(cuMemcpyDtoHAsync_v2, static_cast<void*>(memory.pinned), memory.device, 8u, then);
        early += *memory.pinned != 7; // nobody has waited
        DO(cuStreamSynchronize, then);
        too_late += *memory.pinned != 0x0101010101010101;
    }
    BOOST_TEST(early < 16);
    BOOST_TEST((too_late == 0) == way.ordered, too_late);
}

BOOST_AUTO_TEST_CASE(pageable_memory_is_read_at_once_and_pinned_memory_is_not) {
    const Memory memory;
    const CUstream stream = free_stream();
    int read_late = 0;
    for (int i = 0; i < 32; ++i) {
        std::uint64_t pageable = 5, back = 0;
        DO(cuMemcpyHtoDAsync_v2, memory.device, static_cast<const void*>(&pageable), 8u, stream);
        pageable = 6;
        DO(cuMemcpyDtoHAsync_v2, static_cast<void*>(&back), memory.device, 8u, stream);
        BOOST_TEST(back == 5u); // a copy to pageable memory is done when the call is back
        *memory.pinned = 8;
        DO(cuMemcpyHtoDAsync_v2, memory.device, static_cast<const void*>(memory.pinned), 8u, stream);
        *memory.pinned = 9;
        DO(cuMemcpyDtoHAsync_v2, static_cast<void*>(&back), memory.device, 8u, stream);
        read_late += back == 9;
    }
    BOOST_TEST(read_late > 4);
}

/// What a copy to the device reads that comes after a write on the other stream: the default stream's order,
/// which release 580 keeps in part.
struct Source {
    const char* name;
    std::size_t bytes;
    bool managed, prefers_host;
    std::function<CUstream()> first, then;
    bool joined; ///< by an event
    bool ordered;
};

std::ostream& operator<<(std::ostream& out, const Source& source) {
    return out << source.name;
}

const Source sources[] = {
    {"little page-locked memory after the legacy stream", 8, false, false, legacy, blocking, false, false},
    {"the same before it", 8, false, false, blocking, legacy, false, false},
    {"the same by an event", 8, false, false, legacy, blocking, true, true},
    {"much page-locked memory", 32768, false, false, legacy, blocking, false, true},
    {"managed memory", 8, true, false, legacy, blocking, false, true},
    {"managed memory that prefers the host", 65536, true, true, legacy, blocking, false, false},
    {"the same before the legacy stream", 65536, true, true, blocking, legacy, false, true},
    {"the same by an event", 65536, true, true, legacy, per_thread, true, true},
};

BOOST_DATA_TEST_CASE(copies_that_read_before_the_default_streams_order, data::make(sources), source) {
    const Memory context;
    const CUstream first = source.first(), then = source.then();
    CUdeviceptr target = 0, from = 0;
    DO(cuMemAlloc_v2, &target, source.bytes);
    if (source.managed) {
        DO(cuMemAllocManaged, &from, source.bytes, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL));
        if (source.prefers_host)
            DO(cuMemAdvise_v2, from, source.bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
               CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, {0}});
    } else {
        void* pinned = nullptr;
        DO(cuMemHostAlloc, &pinned, source.bytes, 0u);
        from = reinterpret_cast<CUdeviceptr>(pinned);
    }
    int early = 0;
    for (int i = 0; i < 32; ++i) {
        std::uint64_t back = 0;
        DO(cuMemsetD8_v2, from, static_cast<unsigned char>(7), source.bytes);
        DO(cuCtxSynchronize);
        DO(cuMemsetD8Async, from, static_cast<unsigned char>(1), source.bytes, first);
        if (source.joined)
            join_by_event(first, then);
        DO(cuMemcpyAsync, target, from, source.bytes, then);
        DO(cuCtxSynchronize);
        DO(cuMemcpyDtoH_v2, static_cast<void*>(&back), target, 8u);
        early += back == 0x0707070707070707;
    }
    BOOST_TEST((early == 0) == source.ordered, early);
}

/// Also one whose source the stream is still to write.
BOOST_AUTO_TEST_CASE(a_copy_between_host_memory_waits_for_no_stream) {
    const Memory memory;
    const CUstream stream = free_stream();
    int at_once = 0;
    for (int i = 0; i < 32; ++i) {
        std::uint64_t copy = 0;
        *memory.pinned = 3;
        DO(cuMemcpyDtoHAsync_v2, static_cast<void*>(memory.pinned), memory.device, 8u, stream);
        DO(cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(&copy), reinterpret_cast<CUdeviceptr>(memory.pinned),
           8u, stream);
        at_once += copy == 3;
        DO(cuStreamSynchronize, stream);
        BOOST_TEST(*memory.pinned == 0u);
    }
    BOOST_TEST(at_once > 16);
}

BOOST_AUTO_TEST_CASE(an_event_is_asked_about_until_it_has_come) {
    const Memory memory;
    const CUstream stream = free_stream();
    CUevent event = nullptr;
    DO(cuEventCreate, &event, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
    int not_yet = 0;
    for (int i = 0; i < 64; ++i) {
        DO(cuMemsetD8Async, memory.device, static_cast<unsigned char>(1), 8u, stream);
        DO(cuEventRecord, event, stream);
        while (ANSWER(cuEventQuery, event) == CUDA_ERROR_NOT_READY)
            ++not_yet;
    }
    BOOST_TEST(not_yet > 16);
}

BOOST_AUTO_TEST_SUITE_END()
