/// The shim's constructor and destructor.
#include "interposer/control/address.hpp"
#include "interposer/record/high_descriptor.hpp"
#include "interposer/runtime/machine_rates.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "interposer/runtime/state.hpp"
#include "interposer/runtime/window.hpp"

namespace umadvisor::runtime {

namespace {

/// Does only what can be done at no other time, since most processes with the shim never enter CUDA.
[[gnu::constructor]] void load() {
    read_options();
    record::make_room_for_descriptors();
    remember_stderr();
    remember_rates_file();
    remember_start();
    remember_main_thread();
    control::remember_runtime_folder();
    if (options().acts())
        remember_cores();
}

[[gnu::destructor]] void unload() {
    leave();
}

} // namespace

} // namespace umadvisor::runtime
