#include "interposer/wrappers/stream.hpp"

#include "interposer/observe/capture.hpp"
#include "interposer/observe/copy_contents.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"

namespace umadvisor::wrappers {

void after_wait(const act::Wait& wait) noexcept {
    observe::managed_watch().look();
    observe::residency_sampler().after_synchronize();
    act::notify<&act::Action::after_wait>(wait);
    act::notify<&act::Action::end_round>();
    observe::device_timer().collect();
    record::renew_clock();
}

namespace {

act::Wait::For waited_for(trace::SyncKind kind) {
    return kind == trace::SyncKind::context  ? act::Wait::For::everything
           : kind == trace::SyncKind::stream ? act::Wait::For::stream
                                             : act::Wait::For::part;
}

} // namespace

void finish_sync(trace::Sync& record, std::uint64_t begun) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
    const bool waited =
        record.kind != trace::SyncKind::stream_query && record.kind != trace::SyncKind::event_query;
    if (record.status == CUDA_SUCCESS)
        observe::copy_contents().after_sync(record);
    if (waited && record.status == CUDA_SUCCESS)
        after_wait({waited_for(record.kind), record.object, record.stack, begun});
}

void finish_stream(trace::Stream& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    // The handle is new or used again, so captures on a former stream have ended unseen.
    if (record.action == trace::StreamAction::create && record.stream != trace::StreamId{})
        observe::forget_captures(reinterpret_cast<CUstream>(record.stream), observe::captures_begun());
    // Asked after the call, since a wait may have joined the stream to a capture. The driver must not be asked
    // about a destroyed stream.
    if (record.action != trace::StreamAction::create && record.action != trace::StreamAction::destroy)
        record.captured = observe::is_captured(reinterpret_cast<CUstream>(record.stream));
    record::write(record);
}

void finish_event(trace::Event& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record.captured = observe::is_captured(reinterpret_cast<CUstream>(record.stream));
    record::write(record);
}

void finish_host_function(trace::HostFunction& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record.captured = observe::is_captured(reinterpret_cast<CUstream>(record.stream));
    record::write(record);
}

} // namespace umadvisor::wrappers
