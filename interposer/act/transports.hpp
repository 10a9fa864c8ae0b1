/// Libraries that hand device memory to other processes and to network cards: managed memory cannot be handed
/// on so, and some of them would not notice.
#pragma once

namespace umadvisor::act {

/// Whether NCCL, MPI, UCX or NVSHMEM made the call of the driver that this thread is in, itself or through the
/// runtime. False where there are no call stacks. Cheap for a stack that has been here before.
bool is_called_by_transport() noexcept;

} // namespace umadvisor::act
