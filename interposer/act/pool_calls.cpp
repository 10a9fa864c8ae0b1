#include "interposer/act/pool_calls.hpp"

#include "interposer/act/action.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/record/recorder.hpp"

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

template <Entry E, class... Arguments>
CUresult make(trace::Pool& record, trace::Reason reason, Arguments... arguments) {
    record.entry = attach::index(E);
    record.memory = trace::Memory::device;
    record.origin = trace::Origin::umadvisor;
    record.reason = reason;
    record.stack = record::stack();
    record.start = record::now();
    const CUresult answer = real<E>()(arguments...);
    record.duration = record::now() - record.start;
    record.status = static_cast<std::uint64_t>(answer);
    record::write(record);
    record::charge(record.duration);
    return answer;
}

} // namespace

bool ask_pool(CUmemoryPool pool, CUmemPool_attribute what, std::uint64_t& bytes) noexcept {
    cuuint64_t value = 0;
    const CUresult answer = real<Entry::cuMemPoolGetAttribute>()(pool, what, &value);
    if (answer != CUDA_SUCCESS)
        modes::pools.fail(answer);
    bytes = value;
    return answer == CUDA_SUCCESS;
}

CUresult set_threshold(CUmemoryPool pool, std::uint64_t bytes, trace::Reason reason) noexcept {
    trace::Pool record;
    record.action = trace::PoolAction::set_attribute;
    record.pool = reinterpret_cast<std::uint64_t>(pool);
    record.attribute = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    record.value = bytes;
    cuuint64_t value = bytes;
    return make<Entry::cuMemPoolSetAttribute>(record, reason, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                              static_cast<void*>(&value));
}

bool empty_pool(CUmemoryPool pool) noexcept {
    trace::Pool record;
    record.action = trace::PoolAction::trim;
    record.pool = reinterpret_cast<std::uint64_t>(pool);
    const bool lowered = set_threshold(pool, programs_own, trace::Reason::pool_pressure) == CUDA_SUCCESS;
    return lowered && make<Entry::cuMemPoolTrimTo>(record, trace::Reason::pool_pressure, pool,
                                                   std::size_t{0}) == CUDA_SUCCESS;
}

std::uint64_t free_memory_on(CUdevice device) noexcept {
    CUdevice here = -1;
    std::size_t free = 0, total = 0;
    return real<Entry::cuCtxGetDevice>()(&here) == CUDA_SUCCESS && here == device &&
                   real<Entry::cuMemGetInfo_v2>()(&free, &total) == CUDA_SUCCESS
               ? free
               : 0;
}

} // namespace umadvisor::act
