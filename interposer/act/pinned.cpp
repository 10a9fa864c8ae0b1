/// `--act pinned`: pinned memory that the program gives up is kept, and the next call for the same is answered
/// with it.
///
/// A call that is answered so does what the driver's would: a free waits for all work of the context, and
/// memory that is allocated is empty. Nothing is kept or handed out while the program captures, and a context
/// whose work has failed gets the driver's answers.
#include "interposer/act/action.hpp"
#include "interposer/act/pinned_blocks.hpp"

namespace umadvisor::act {

namespace {

bool start(const runtime::Options&, const DeviceCount&) noexcept {
    set_pinned_budget();
    return true;
}

void after_wait(const Wait& wait) noexcept {
    if (wait.what == Wait::For::everything)
        free_old_pinned();
}

void add_kept(CUdevice, Kept& kept) noexcept {
    kept.host_bytes += kept_pinned_bytes();
}

} // namespace

constinit Action modes::pinned{
    .name = "pinned",
    .start = &start,
    .after_wait = &after_wait,
    .instead_of_host_allocation = &allocate_pinned,
    .instead_of_free = &keep_pinned,
    .give_back = &give_back_pinned,
    .add_kept = &add_kept,
    .on_context_end = &forget_pinned,
};

} // namespace umadvisor::act
