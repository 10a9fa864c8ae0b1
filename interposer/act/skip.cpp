/// `--act skip`: an upload that comes again and again with the same bytes is made within the device, from a
/// copy of the bytes that is kept there.
///
/// What is kept on the device is uploaded from what is kept on the host, so both sides are equal whatever the
/// program does. An upload whose source equals the host's side, in all its bytes, is replaced by a copy from
/// the device's side, in the same stream: it brings the same bytes, whether or not a kernel has written its
/// destination. The source is compared when the driver would have read it: after the earlier work of the
/// stream, which may write there. A synchronous copy waits for that, as the driver does; an asynchronous one is
/// replaced only if there is no such work.
#include "interposer/act/action.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/kept_uploads.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/thread_writer.hpp"
#include "policy/mix.hpp"
#include "policy/same_uploads.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;
using policy::SameUploads;
using policy::Upload;

record::Mutex uploads_mutex{record::Lock::actions}; ///< guards what follows
constinit SameUploads uploads;

KeptUpload& kept_at(std::uint64_t memory) {
    return *reinterpret_cast<KeptUpload*>(memory);
}

/// The memory is no longer the policy's; 0: there is none.
void give_up_memory(std::uint64_t memory) {
    if (memory != 0)
        give_up(kept_at(memory));
}

std::uint64_t this_thread() {
    return reinterpret_cast<std::uint64_t>(&record::seat);
}

bool is_upload(const trace::Copy& copy) {
    constexpr Entry plain[] = {Entry::cuMemcpy,
                               Entry::cuMemcpy_ptds,
                               Entry::cuMemcpyAsync,
                               Entry::cuMemcpyAsync_ptsz,
                               Entry::cuMemcpyHtoD_v2,
                               Entry::cuMemcpyHtoD_v2_ptds,
                               Entry::cuMemcpyHtoDAsync_v2,
                               Entry::cuMemcpyHtoDAsync_v2_ptsz};
    return copy.bytes >= SameUploads::least_bytes && copy.destination_memory == trace::Memory::device &&
           (copy.source_memory == trace::Memory::pageable || copy.source_memory == trace::Memory::pinned) &&
           copy.captured == 0 && copy.sample == 0 && observe::nothing_is_captured() &&
           std::ranges::any_of(plain, [&](Entry entry) { return copy.entry == attach::index(entry); });
}

/// Whether the host can read all of the source at full speed, and it is all of one kind.
bool is_readable(const trace::Copy& copy) {
    const std::uint64_t end = copy.source + copy.bytes;
    if (copy.source_memory == trace::Memory::pageable)
        return !observe::allocations().overlaps(copy.source, end) &&
               observe::classify(end - 1, 1).memory == trace::Memory::pageable;
    observe::Allocation from;
    return observe::allocations().find(copy.source, from) && from.memory == trace::Memory::pinned &&
           from.readable && copy.bytes <= from.address + from.bytes - copy.source;
}

/// The current context, if the copy is all within it; else null.
CUcontext describe_upload(const trace::Copy& copy, Upload& upload) {
    observe::Allocation to;
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    if (!observe::allocations().find(copy.destination, to) || to.memory != trace::Memory::device ||
        to.rewritten || copy.bytes > to.address + to.bytes - copy.destination || !is_readable(copy))
        return nullptr;
    const observe::RelaxedCapture relaxed;
    const CUcontext context = current_context_of(stream);
    if (context == nullptr || observe::device_of(context) != to.device || observe::may_be_capturing(stream))
        return nullptr;
    upload = {copy.source, copy.bytes, observe::context_number(context)};
    return upload.context != 0 &&
                   (to.context == upload.context || to.context == observe::device_number(to.device))
               ? context
               : nullptr;
}

/// A few words of the source, of which the last is its end.
std::uint64_t hash_of_words(const trace::Copy& copy) {
    constexpr std::uint64_t least = 16, most = 256, apart = 64u << 10;
    const std::uint64_t count = std::clamp(copy.bytes / apart, least, most);
    std::uint64_t hash = 1;
    for (std::uint64_t i = 1; i <= count; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char*>(copy.source) + (copy.bytes - sizeof word) / count * i,
                    sizeof word);
        hash = policy::mix(hash, word);
    }
    return hash;
}

/// Asks until `done()` is anything but CUDA_ERROR_NOT_READY, or so many nanoseconds have passed.
template <class Done>
CUresult ask_until(std::uint64_t nanoseconds, Done&& done) {
    const std::uint64_t until = record::monotonic_nanoseconds() + nanoseconds;
    CUresult answer = done();
    while (answer == CUDA_ERROR_NOT_READY && record::monotonic_nanoseconds() < until)
        answer = done();
    return answer;
}

/// Whether the stream's earlier work is done, for which a synchronous copy waits. CUDA_ERROR_NOT_READY: it is
/// not. The legacy default stream's is that of all streams which it waits for, so an event shows it, which is
/// given to the stream as the copy would be.
CUresult await_earlier_work(const trace::Copy& copy, KeptUpload& kept) {
    constexpr std::uint64_t event_time = 20'000; ///< nanoseconds in which the device passes one, amply
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    CUresult answer = real<Entry::cuEventQuery>()(kept.passed);
    if (answer == CUDA_SUCCESS && copy.asynchronous != 0)
        answer = real<Entry::cuStreamQuery>()(stream);
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuEventRecord>()(kept.passed, stream);
    if (answer != CUDA_SUCCESS)
        return answer;
    return copy.asynchronous == 0
               ? real<Entry::cuEventSynchronize>()(kept.passed)
               : ask_until(event_time, [&] { return real<Entry::cuEventQuery>()(kept.passed); });
}

CUresult copy_within_device(const trace::Copy& copy, KeptUpload& kept, std::uint64_t stack) {
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    trace::Copy record;
    record.entry = attach::index(Entry::cuMemcpyDtoDAsync_v2);
    record.destination = copy.destination;
    record.source = kept.device;
    record.bytes = copy.bytes;
    record.source_memory = record.destination_memory = trace::Memory::device;
    record.destination_allocation = copy.destination_allocation;
    record.asynchronous = 1;
    record.stream = copy.stream;
    record.origin = trace::Origin::umadvisor;
    record.reason = trace::Reason::same_bytes;
    record.stack = stack;
    record.start = record::now();
    const CUresult answer =
        real<Entry::cuMemcpyDtoDAsync_v2>()(copy.destination, kept.device, copy.bytes, stream);
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(answer);
    record::write(record);
    return answer;
}

/// Makes the copy from what is kept, which no other thread uses. A failure of it ends the turn.
bool replace(trace::Copy& copy, const Upload& upload, KeptUpload& kept) {
    const std::uint64_t begun = record::now();
    if (!holds(kept, reinterpret_cast<const char*>(copy.source))) {
        std::uint64_t memory = 0;
        {
            const record::Guard guard(uploads_mutex);
            memory = uploads.unequal(upload);
        }
        give_up_memory(memory);
        return false;
    }
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    CUresult answer = copy_within_device(copy, kept, 0); // a part of the program's call, whose time it is
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuEventRecord>()(kept.passed, stream);
    if (answer == CUDA_SUCCESS && copy.asynchronous == 0)
        answer = real<Entry::cuEventSynchronize>()(kept.passed);
    std::uint64_t memory = 0;
    {
        const record::Guard guard(uploads_mutex);
        // After a failure it is not known when the device is done with it.
        memory = answer == CUDA_SUCCESS ? uploads.equal(upload, record::now() - begun) : uploads.drop(upload);
    }
    give_up_memory(memory);
    if (answer != CUDA_SUCCESS) {
        modes::skip.fail(answer);
        return false;
    }
    if (memory != 0)
        record::note(record::About{.stack = record::stack()},
                     "--act skip: an upload of %llu bytes is left to the driver from now on, which takes less "
                     "time than to compare the bytes",
                     static_cast<unsigned long long>(copy.bytes));
    copy.reason = trace::Reason::same_bytes;
    return true;
}

/// Nothing was learned.
void end_turn(const Upload& upload) {
    const record::Guard guard(uploads_mutex);
    uploads.leave(upload, this_thread());
}

/// The stream's earlier work does not count for the time that the driver takes. NOT_READY: there is some.
CUresult prepare_measure(const trace::Copy& copy) {
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    return copy.asynchronous == 0 ? real<Entry::cuStreamSynchronize>()(stream)
                                  : real<Entry::cuStreamQuery>()(stream);
}

bool instead_of_moving(trace::Copy& copy) noexcept {
    if (!is_upload(copy))
        return false;
    const record::Quiet quiet;
    Upload upload;
    if (describe_upload(copy, upload) == nullptr)
        return false;
    SameUploads::Turn turn;
    {
        const record::Guard guard(uploads_mutex);
        turn = uploads.begin(upload, this_thread());
    }
    if (turn.choice == SameUploads::Choice::leave)
        return false;
    if (calls_are_deferred()) {
        make_deferred_calls();
        copy.start = record::now();
    }
    const bool compares = turn.choice == SameUploads::Choice::compare;
    const CUresult answer = compares ? await_earlier_work(copy, kept_at(turn.kept)) : prepare_measure(copy);
    if (answer != CUDA_SUCCESS) {
        end_turn(upload);
        if (answer != CUDA_ERROR_NOT_READY)
            modes::skip.fail(answer);
        return false;
    }
    if (copy.asynchronous == 0)
        copy.wait_duration = record::now() - copy.start;
    if (compares)
        return replace(copy, upload, kept_at(turn.kept));
    if (turn.kept != 0)
        copy.reason = trace::Reason::compared;
    return false;
}

/// Ticks that the copy took, in which an asynchronous one has only begun; 0: not known.
std::uint64_t time_of(const trace::Copy& copy) {
    if (copy.asynchronous != 0) {
        const std::uint64_t enough = 1'000'000 + copy.bytes / 4; // nanoseconds: 4 GB/s
        if (ask_until(enough, [&] {
                return real<Entry::cuStreamQuery>()(reinterpret_cast<CUstream>(copy.stream));
            }) != CUDA_SUCCESS)
            return 0;
    }
    return copy.asynchronous != 0 ? record::now() - copy.start
                                  : copy.duration - std::min(copy.duration, copy.wait_duration);
}

/// This thread has the turn.
void keep_bytes(const trace::Copy& copy, const Upload& upload, CUcontext context) {
    std::uint64_t memory = 0, idle = 0;
    {
        const record::Guard guard(uploads_mutex);
        memory = uploads.kept(upload);
        if (memory == 0)
            idle = uploads.remove_idle();
    }
    give_up_memory(idle);
    CUresult answer = CUDA_SUCCESS;
    if (memory == 0)
        memory = reinterpret_cast<std::uint64_t>(keep_upload(context, copy.bytes, answer));
    else
        answer = real<Entry::cuEventQuery>()(kept_at(memory).passed);
    if (answer == CUDA_ERROR_NOT_READY) // the device is reading it
        return end_turn(upload);
    if (memory != 0 && answer == CUDA_SUCCESS)
        answer = fill(kept_at(memory), reinterpret_cast<const char*>(copy.source), copy.stack);
    if (answer != CUDA_SUCCESS) {
        give_up_memory(memory);
        memory = 0;
        if (answer != CUDA_ERROR_OUT_OF_MEMORY)
            modes::skip.fail(answer);
    }
    const record::Guard guard(uploads_mutex);
    uploads.keep(upload, memory);
}

void after_copy(trace::Copy& copy) noexcept {
    if (!is_upload(copy) || copy.reason == trace::Reason::same_bytes)
        return;
    const record::Quiet quiet;
    Upload upload;
    const CUcontext context = describe_upload(copy, upload);
    if (context == nullptr)
        return;
    if (copy.status != CUDA_SUCCESS)
        return end_turn(upload);
    bool measures = false, keeps = false;
    {
        const record::Guard guard(uploads_mutex);
        measures = uploads.has_turn(upload, this_thread());
    }
    const std::uint64_t ticks = measures ? time_of(copy) : 0;
    const std::uint64_t words = hash_of_words(copy);
    {
        const record::Guard guard(uploads_mutex);
        keeps = uploads.made(upload, this_thread(), words, ticks);
    }
    if (keeps)
        keep_bytes(copy, upload, context);
}

/// Gives up what `next()` removes, until that is nothing.
template <class Next>
void give_up_each(Next&& next) {
    for (;;) {
        std::uint64_t memory = 0;
        {
            const record::Guard guard(uploads_mutex);
            memory = next();
        }
        if (memory == 0)
            return;
        give_up_memory(memory);
    }
}

bool give_back_uploads() noexcept {
    if (!observe::nothing_is_captured())
        return false;
    give_up_each([] { return uploads.remove_any(); });
    if (!free_given_up())
        return false;
    halve_kept_uploads();
    return true;
}

/// Where the program waits for all work of the context, so may we.
void free_what_is_over() {
    if (!modes::skip.is_on())
        give_up_each([] { return uploads.remove_any(); });
    if (kept_upload_bytes(-1) != 0 && observe::nothing_is_captured())
        free_given_up();
}

void on_free(const observe::Allocation& freed) noexcept {
    if (freed.memory == trace::Memory::pinned)
        give_up_each([&] { return uploads.remove_source(freed.address, freed.address + freed.bytes); });
    if ((freed.memory == trace::Memory::pinned || freed.fills_card) &&
        freed.context == observe::current_context_number())
        free_what_is_over();
}

void after_wait(const Wait& wait) noexcept {
    if (wait.what == Wait::For::everything)
        free_what_is_over();
}

void add_kept(CUdevice device, Kept& kept) noexcept {
    kept.device_bytes += kept_upload_bytes(device);
}

void on_context_end(std::uint16_t number) noexcept {
    const record::Quiet quiet;
    {
        const record::Guard guard(uploads_mutex);
        while (uploads.remove_context(number) != 0) {
        }
    }
    forget_kept_uploads(number);
}

} // namespace

constinit Action modes::skip{
    .name = "skip",
    .instead_of_moving = &instead_of_moving,
    .after_copy = &after_copy,
    .after_wait = &after_wait,
    .give_back = &give_back_uploads,
    .add_kept = &add_kept,
    .on_free = &on_free,
    .on_context_end = &on_context_end,
};

} // namespace umadvisor::act
