#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// The rules of stream capture (CUDA programming guide, "Prohibited and unhandled operations"). The caller
/// holds the mutex.
namespace simcuda {

/// Before an operation enters a stream. `captured`: it becomes part of a graph and must not run. An error:
/// refused, and the capture that forbids it is invalidated.
CUresult admit_operation(CUstream_st& stream, bool& captured);

/// Before a call that cuThreadExchangeStreamCaptureMode names potentially unsafe (allocation, synchronous copy,
/// ...).
CUresult refuse_unsafe_call();

/// Before a wait for or a query of one stream, or of the whole context.
CUresult refuse_stream_wait(CUstream_st& stream);
CUresult refuse_context_wait(const CUctx_st& context);

/// Before a query of or a wait for an event.
CUresult refuse_event_wait(const CUevent_st& event);

/// Before the stream goes. CUDA does not say what becomes of a capture that is never ended: here it goes with
/// its stream, and the streams that were drawn into it capture no more.
void drop_capture(const CUstream_st& stream);

/// An event recorded in or waited for by a capturing stream; `admit_operation` has said so.
void record_captured(CUevent_st& event, const CUstream_st& stream);
/// Before a wait for `event`. True: it is all done by the capture, and `answer` is what the program gets.
bool wait_captured(CUstream_st& stream, CUevent_st& event, CUresult& answer);

} // namespace simcuda
