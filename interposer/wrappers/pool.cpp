#include "interposer/wrappers/pool.hpp"

#include "interposer/wrappers/allocation.hpp"

namespace umadvisor::wrappers {

void write_pool(trace::Pool& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
    act::notify_started<&act::Action::on_pool>(record);
}

void finish_pool_look_up(trace::Pool& record, CUmemoryPool pool) noexcept {
    const bool known = pool != nullptr && !observe::note_pool(pool, record.memory);
    if (!known || record.status != CUDA_SUCCESS)
        finish_pool(record, pool);
}

void finish_pointer_import(trace::Pool& record, CUmemoryPool pool, CUdeviceptr address) noexcept {
    const KeepErrno keep;
    record.address = address;
    finish_pool(record, pool);
    if (address != 0)
        enter_part(record, address, mapped_bytes(address), observe::memory_of_pool(pool, address),
                   Owner::device, 0, pool);
}

} // namespace umadvisor::wrappers
