// Calls every recorded entry point of the driver with nothing in its arguments, outside of captures and inside
// one of each mode. Prints what each answers and what became of the capture: whatever a wrapper reads, writes
// or calls on its own account without looking shows.
#include "entries.hpp"

namespace {

CUcontext context = nullptr;
CUstream stream = nullptr;

/// Where all pointers lead, zero before each call: what a driver writes there is no matter.
alignas(64) char room[1 << 16];

/// Handles are null, structures and numbers are zero.
template <class Argument>
Argument nothing() {
    using Target = std::remove_cv_t<std::remove_pointer_t<Argument>>;
    if constexpr (std::is_same_v<Argument, CUstream>)
        return stream;
    else if constexpr (std::is_function_v<Target>)
        return nothing_like(Argument{});
    else if constexpr (std::is_pointer_v<Argument> && Complete<Target>)
        return static_cast<Argument>(static_cast<void*>(room));
    else
        return Argument{};
}

template <class... Arguments>
CUresult call_with_nothing(CUresult (*entry)(Arguments...)) {
    return entry(nothing<Arguments>()...);
}

/// In a context of its own: some of the calls undo the device's primary one.
void begin_anew() {
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    std::memset(room, 0, sizeof room);
}

void call_in_capture(CUstreamCaptureMode mode) {
    for_each_entry([mode](const char* name, auto entry) {
        begin_anew();
        must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(stream, mode), "begin");
        const CUresult answer = call_with_nothing(entry);
        ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context);
        CUstreamCaptureStatus status{};
        const CUresult asked = ASK("cuStreamIsCapturing", cuStreamIsCapturing)(stream, &status);
        CUgraph graph = nullptr;
        const CUresult end = ASK("cuStreamEndCapture", cuStreamEndCapture)(stream, &graph);
        std::size_t nodes = 0;
        if (graph != nullptr)
            ASK("cuGraphGetNodes", cuGraphGetNodes)(graph, nullptr, &nodes);
        std::printf("mode %d %s: %d, capture %d %d, end %d, %zu nodes\n", static_cast<int>(mode), name,
                    static_cast<int>(answer), static_cast<int>(asked), static_cast<int>(status),
                    static_cast<int>(end), nodes);
    });
}

void call_outside() {
    for_each_entry([](const char* name, auto entry) {
        begin_anew();
        std::printf("%s: %d\n", name, static_cast<int>(call_with_nothing(entry)));
    });
}

} // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    must(ASK("cuInit", cuInit)(0), "init");
    must(ask<decltype(&cuCtxCreate_v2)>("cuCtxCreate", 3020)(&context, 0, 0), "context");
    call_outside();
    for (const CUstreamCaptureMode mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED})
        call_in_capture(mode);
    return 0;
}
