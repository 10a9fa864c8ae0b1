/// What happens without being called: loading and unloading of the shim.
#include "interposer/record/high_descriptor.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "interposer/runtime/state.hpp"
#include "interposer/runtime/window.hpp"

namespace umadvisor::runtime {

namespace {

/// What can be done at no other time, and no more: most processes that this is preloaded into never enter CUDA.
[[gnu::constructor]] void load() {
    read_options();
    record::make_room_for_descriptors();
    remember_stderr();
    remember_start();
    if (options().act_stage)
        remember_cores();
}

[[gnu::destructor]] void unload() {
    leave();
}

} // namespace

} // namespace umadvisor::runtime
