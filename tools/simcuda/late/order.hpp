/// What CUDA promises about the order of work, and nothing more: operations wait until somebody waits for them,
/// and of those that nothing orders any may come first (CUDA C++ Programming Guide, "Streams", "Default
/// stream", "Events"). One context. Thread-safe.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace simcuda::late {

/// Held over each call, and while an operation is carried out.
std::recursive_mutex& mutex();

struct Operation;
using Work = std::shared_ptr<Operation>; ///< null: nothing, done

struct Stream {
    bool blocking = true; ///< waits for the legacy default stream, and it for this one
    bool legacy = false;
    Work last{};
};

/// The stream that a handle means to the calling thread.
Stream& stream_of(CUstream handle, bool per_thread);
void add_stream(CUstream handle, bool blocking);
/// What it has is carried out first.
void remove_stream(CUstream handle);

/// Puts `run` behind what the stream has, and behind `also`.
Work submit(Stream& stream, std::function<void()> run, const Work& also = nullptr);
/// The same, but not behind what the legacy default stream has.
void submit_beside_legacy(Stream& stream, std::function<void()> run);
/// From now on the stream's operations come after `work`.
void put_behind(Stream& stream, const Work& work);
/// All that the stream has so far, and what is ordered before it.
Work so_far(Stream& stream);

bool is_done(const Work& work);
/// Carries it out, and what is ordered before it.
void force(const Work& work);
void force_all();

/// Now and then true.
bool chance(unsigned one_in);

} // namespace simcuda::late
