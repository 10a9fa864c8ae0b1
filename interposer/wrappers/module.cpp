#include "interposer/wrappers/module.hpp"

#include "interposer/act/action.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/module_variables.hpp"

namespace umadvisor::wrappers {

void finish_load(trace::GpuModule& record, std::uint64_t module) noexcept {
    const KeepErrno keep;
    record.action = trace::ModuleAction::load;
    record.module = module;
    record.stack = record::stack();
    record::write(record);
}

void begin_unload(trace::GpuModule& record, std::uint64_t module) noexcept {
    const KeepErrno keep;
    record.action = trace::ModuleAction::unload;
    record.module = module;
    observe::forget_module(module);
    observe::forget_variables(module, [](const observe::Allocation& gone) noexcept {
        act::notify_started<&act::Action::on_free>(gone);
    });
}

void finish_unload(trace::GpuModule& record) noexcept {
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
}

void note_function(CUfunction function, CUmodule module, const char* name) noexcept {
    const KeepErrno keep;
    observe::note_function(function, module, name);
}

void note_kernel(CUkernel kernel, CUlibrary library, const char* name) noexcept {
    const KeepErrno keep;
    observe::note_kernel(kernel, library, name);
}

} // namespace umadvisor::wrappers
