#include "interposer/act/placement.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/record/recorder.hpp"

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

CUmemLocation location_of(CUdevice device) {
    CUmemLocation location{};
    location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device == CU_DEVICE_CPU ? 0 : device;
    return location;
}

template <class Record>
void describe(Record& record, CUdevice device, trace::Reason reason, std::uint64_t stack) {
    record.location = device == CU_DEVICE_CPU ? trace::Location::host : trace::Location::device;
    record.location_id = device == CU_DEVICE_CPU ? 0 : static_cast<std::uint64_t>(device);
    record.origin = trace::Origin::umadvisor;
    record.reason = reason;
    record.stack = stack;
}

template <class Record>
CUresult finish(Record& record, CUresult answer) {
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(answer);
    record::write(record);
    record::charge(record.duration);
    return answer;
}

} // namespace

CUresult prefetch_range(const policy::PrefetchRange& range, CUdevice device, CUstream stream,
                        trace::Reason reason, std::uint64_t stack) noexcept {
    trace::Prefetch record;
    record.address = range.address;
    record.bytes = range.bytes;
    record.allocation = trace::AllocationId{range.allocation};
    record.stream = trace::StreamId{reinterpret_cast<std::uint64_t>(stream)};
    describe(record, device, reason, stack);
    record.start = record::now();
    if (attach::available(Entry::cuMemPrefetchAsync)) {
        record.entry = attach::index(Entry::cuMemPrefetchAsync);
        return finish(record, real<Entry::cuMemPrefetchAsync>()(range.address, range.bytes, device, stream));
    }
    record.entry = attach::index(Entry::cuMemPrefetchAsync_v2);
    return finish(record, real<Entry::cuMemPrefetchAsync_v2>()(range.address, range.bytes, location_of(device),
                                                               0, stream));
}

CUresult advise(const policy::PrefetchRange& range, CUmem_advise advice, CUdevice device,
                trace::Reason reason) noexcept {
    trace::Advise record;
    record.address = range.address;
    record.bytes = range.bytes;
    record.allocation = trace::AllocationId{range.allocation};
    record.advice = static_cast<std::uint64_t>(advice);
    describe(record, device, reason, record::stack());
    record.start = record::now();
    if (attach::available(Entry::cuMemAdvise)) {
        record.entry = attach::index(Entry::cuMemAdvise);
        return finish(record, real<Entry::cuMemAdvise>()(range.address, range.bytes, advice, device));
    }
    record.entry = attach::index(Entry::cuMemAdvise_v2);
    return finish(record,
                  real<Entry::cuMemAdvise_v2>()(range.address, range.bytes, advice, location_of(device)));
}

CUresult advise(const observe::Allocation& allocation, CUmem_advise advice, CUdevice device) noexcept {
    return advise({allocation.id, allocation.address, allocation.bytes}, advice, device,
                  trace::Reason::place_rewritten);
}

} // namespace umadvisor::act
