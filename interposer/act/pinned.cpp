/// `--act pinned`: pinned memory that the program gives up is kept, and the next call for the same is answered
/// with it; so are registrations that it ends.
///
/// A call that is answered so does what the driver's would: a free waits for all work of the context, and
/// memory that is allocated is empty. Nothing is kept or handed out while the program captures, and a context
/// whose work has failed gets the driver's answers.
#include "interposer/act/action.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/pinned_blocks.hpp"
#include "interposer/act/registrations.hpp"
#include "interposer/act/touched_blocks.hpp"
#include "interposer/record/quiet.hpp"

namespace umadvisor::act {

namespace {

bool start(const runtime::Options&, const DeviceCount& devices) noexcept {
    set_pinned_budget();
    if (devices.hmm != 0 || devices.read_host != 0)
        keep_no_registrations();
    return true;
}

void after_wait(const Wait& wait) noexcept {
    if (wait.what != Wait::For::everything)
        return;
    free_old_pinned();
    end_old_registrations();
}

/// Keeps the memory, or frees what is not the driver's to free. As the driver's own allocation, such memory is
/// no registration that could be ended.
bool instead_of_free(FreeingScope& freeing) noexcept {
    if (keep_pinned(freeing) || keep_registration(freeing))
        return true;
    trace::Free& record = freeing.record;
    const bool frees = record.entry == attach::index(attach::Entry::cuMemFreeHost);
    if ((!frees && record.entry != attach::index(attach::Entry::cuMemHostUnregister)) ||
        !is_touched(record.address))
        return false;
    const record::Quiet quiet;
    record.status = frees ? free_touched(record.address) : CUDA_ERROR_INVALID_VALUE;
    return true;
}

void on_context_end(std::uint16_t number) noexcept {
    forget_pinned(number);
    forget_touched(number);
    forget_registrations(number);
}

void add_kept(CUdevice, Kept& kept) noexcept {
    kept.host_bytes += kept_pinned_bytes() + kept_registration_bytes();
}

bool give_back_all() noexcept {
    const bool blocks = give_back_pinned(), registrations = give_back_registrations();
    return blocks || registrations;
}

} // namespace

constinit Action modes::pinned{
    .name = "pinned",
    .start = &start,
    .after_wait = &after_wait,
    .instead_of_host_allocation = &allocate_pinned,
    .instead_of_registration = &register_again,
    .instead_of_free = &instead_of_free,
    .give_back = &give_back_all,
    .add_kept = &add_kept,
    .on_context_end = &on_context_end,
};

} // namespace umadvisor::act
