#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// Every function here expects the caller to hold the driver's mutex.
namespace simcuda {

/// What of a device an operation keeps busy.
enum class Engine { none, compute, to_device, to_host };

/// The stream a handle means to the calling thread: 0 and the two constants for default streams included.
/// nullptr if it is no stream.
CUstream_st* resolve_stream(CUstream handle, bool per_thread);

/// When an operation that is enqueued now can start: after the host's call, the stream's earlier work, what
/// legacy-stream order demands and the engine's earlier work.
Nanoseconds earliest_start(const CUstream_st& stream, Engine engine);
/// The operation enqueued last ends at `end`.
void occupy(CUstream_st& stream, Engine engine, Nanoseconds end);
/// Both in one: returns the end.
Nanoseconds enqueue(CUstream_st& stream, Engine engine, Nanoseconds duration);

/// When all work of the context so far is done.
Nanoseconds context_end(const CUctx_st& context);

CUstream_st* make_stream(CUctx_st& context, unsigned flags, int priority);
void forget_streams(CUctx_st& context);
/// Before the context's streams go, or can no longer be used.
void drop_captures(const CUctx_st& context);

} // namespace simcuda
