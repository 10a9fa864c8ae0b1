#include "interposer/act/kept_uploads.hpp"

#include "interposer/act/cores.hpp"
#include "interposer/act/host.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/act/stage_ring.hpp"
#include "interposer/base/pages.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <sys/mman.h>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;
using State = KeptUpload::State;

constexpr std::uint64_t share_of_device = 8;    ///< one part in so many of what is free
constexpr std::uint64_t share_of_host_half = 8; ///< of half of what is free (host_share())

record::Mutex kept_mutex{record::Lock::actions}; ///< guards the next two
constinit KeptUpload all[64]{};
constinit unsigned halvings = 0;

constinit StagePool comparing;
constinit std::atomic_flag comparing_started{};

/// The calling thread works, too, and alone where there are no others.
void share_out(StageJob& job) {
    if (!comparing_started.test_and_set())
        comparing.start(policy::stage_threads_for(usable_cores()));
    job.manner = {policy::stage_threads, true};
    comparing.put(job);
    comparing.wait(job);
}

std::uint64_t bytes_of(std::uint16_t number) {
    std::uint64_t sum = 0;
    for (const KeptUpload& each : all)
        if (each.state != State::unused && (number == 0 || each.number == number))
            sum += each.bytes;
    return sum;
}

/// Null: there is no room for more.
KeptUpload* reserve(CUcontext context, std::uint64_t bytes, std::uint64_t free_on_device) {
    const std::uint16_t number = observe::context_number(context);
    const std::uint64_t of_host = host_share() / share_of_host_half;
    const record::Guard guard(kept_mutex);
    const std::uint64_t here = bytes_of(number);
    const auto unused = std::ranges::find(all, State::unused, &KeptUpload::state);
    if (number == 0 || unused == std::end(all) || bytes_of(0) + bytes > of_host >> halvings ||
        here + bytes > (free_on_device + here) / share_of_device >> halvings)
        return nullptr;
    *unused = {.context = context, .bytes = bytes, .number = number, .state = State::kept};
    return unused;
}

/// What is freed has to be no other thread's: its state is that of `kept` or given up until the end.
void free_memory(KeptUpload& kept) {
    if (kept.host != nullptr)
        base::unmap_pages(kept.host, kept.bytes);
    const InContext inside(kept.context);
    if (inside && kept.device != 0)
        real<Entry::cuMemFree_v2>()(kept.device);
    if (inside && kept.passed != nullptr)
        real<Entry::cuEventDestroy_v2>()(kept.passed);
    const record::Guard guard(kept_mutex);
    kept = {};
}

CUresult upload(KeptUpload& kept, CUstream stream, std::uint64_t stack) {
    trace::Copy record;
    record.entry = attach::index(Entry::cuMemcpyHtoDAsync_v2);
    record.destination = kept.device;
    record.source = reinterpret_cast<std::uint64_t>(kept.host);
    record.bytes = kept.bytes;
    record.source_memory = trace::Memory::pageable;
    record.destination_memory = trace::Memory::device;
    record.asynchronous = 1;
    record.stream = trace::StreamId{reinterpret_cast<std::uint64_t>(stream)};
    record.origin = trace::Origin::umadvisor;
    record.reason = trace::Reason::same_bytes;
    record.stack = stack;
    record.start = record::now();
    CUresult answer = real<Entry::cuMemcpyHtoDAsync_v2>()(kept.device, kept.host, kept.bytes, stream);
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuStreamSynchronize>()(stream);
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(answer);
    record::write(record);
    record::charge(record.duration);
    return answer;
}

} // namespace

KeptUpload* keep_upload(CUcontext context, std::uint64_t bytes, CUresult& answer) noexcept {
    std::size_t free = 0, total = 0;
    answer = CUDA_SUCCESS;
    if (record::is_confined())
        return nullptr;
    answer = real<Entry::cuMemGetInfo_v2>()(&free, &total);
    KeptUpload* const kept = answer == CUDA_SUCCESS ? reserve(context, bytes, free) : nullptr;
    if (kept == nullptr)
        return nullptr;
    kept->host = static_cast<char*>(base::map_pages(bytes));
    if (kept->host != nullptr) {
        madvise(kept->host, bytes, MADV_HUGEPAGE);
        answer = real<Entry::cuCtxGetDevice>()(&kept->ordinal);
        if (answer == CUDA_SUCCESS)
            answer = real<Entry::cuEventCreate>()(&kept->passed, CU_EVENT_DISABLE_TIMING);
        if (answer == CUDA_SUCCESS &&
            (answer = real<Entry::cuMemAlloc_v2>()(&kept->device, bytes)) == CUDA_SUCCESS)
            return kept;
    }
    free_memory(*kept);
    return nullptr;
}

CUresult fill(KeptUpload& kept, const char* source, std::uint64_t stack) noexcept {
    StageJob job{.to = kept.host, .from = source, .bytes = kept.bytes};
    share_out(job);
    CUstream stream = nullptr;
    CUresult answer = real<Entry::cuStreamCreate>()(&stream, CU_STREAM_NON_BLOCKING);
    if (answer != CUDA_SUCCESS)
        return answer;
    answer = upload(kept, stream, stack);
    real<Entry::cuStreamDestroy_v2>()(stream);
    return answer;
}

bool holds(const KeptUpload& kept, const char* source) noexcept {
    StageJob job{.to = kept.host, .from = source, .bytes = kept.bytes};
    job.compares = true;
    share_out(job);
    return !job.differs;
}

void give_up(KeptUpload& kept) noexcept {
    const record::Guard guard(kept_mutex);
    kept.state = State::given_up;
}

bool free_given_up() noexcept {
    const record::Quiet quiet;
    for (bool any = false;; any = true) {
        KeptUpload* found = nullptr;
        {
            const record::Guard guard(kept_mutex);
            found = std::ranges::find(all, State::given_up, &KeptUpload::state);
            if (found == std::end(all))
                return any;
            found->state = State::kept; // by this thread, to free it
        }
        const observe::RelaxedCapture relaxed;
        free_memory(*found);
    }
}

void forget_kept_uploads(std::uint16_t context_number) noexcept {
    for (;;) {
        KeptUpload gone{};
        {
            const record::Guard guard(kept_mutex);
            const auto found = std::ranges::find_if(all, [&](const KeptUpload& each) {
                return each.state != State::unused && each.number == context_number;
            });
            if (context_number == 0 || found == std::end(all))
                return;
            gone = *found;
            *found = {};
        }
        if (gone.host != nullptr)
            base::unmap_pages(gone.host, gone.bytes);
    }
}

std::uint64_t kept_upload_bytes(CUdevice device) noexcept {
    const record::Guard guard(kept_mutex);
    std::uint64_t sum = 0;
    for (const KeptUpload& each : all)
        if (each.state != State::unused && (device < 0 || each.ordinal == device))
            sum += each.bytes;
    return sum;
}

void halve_kept_uploads() noexcept {
    const record::Guard guard(kept_mutex);
    if (halvings < 63)
        ++halvings;
}

} // namespace umadvisor::act
