/// Stands for the wrappers and the recorder: cuInit is the only entry that is recorded, and records by setting
/// a flag.
#include "interposer/attach/real.hpp"
#include "interposer/attach/wrapper_table.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/record/taking.hpp"

extern "C" {
__attribute__((visibility("default"))) int test_wrapper_calls = 0;
__attribute__((visibility("default"))) unsigned long test_counted_calls(const char* symbol);
std::uint64_t test_counters[umadvisor::attach::entry_count];
__attribute__((visibility("hidden"))) std::uint64_t* umadvisor_counters = test_counters;
}

/// No call is looked at here. The pass-throughs read the word.
extern "C" __attribute__((visibility("hidden"))) void umadvisor_before_counted_call(std::size_t) noexcept {
    umadvisor::record::attention().store(0);
}

void umadvisor::record::follow_modules() noexcept {} // no stacks are recorded here

namespace umadvisor::attach {

namespace {
CUresult record_init(unsigned flags) {
    ++test_wrapper_calls;
    return real<Entry::cuInit>()(flags);
}
} // namespace

void* const wrapper_table[entry_count] = {
#define API(symbol, handling) Entry::symbol == Entry::cuInit ? reinterpret_cast<void*>(&record_init) : nullptr,
#include "interposer/driver_api.def"
};

} // namespace umadvisor::attach

extern "C" unsigned long test_counted_calls(const char* symbol) {
    for (std::size_t i = 0; i < umadvisor::attach::entry_count; ++i)
        if (umadvisor::attach::entry_names[i] == symbol)
            return test_counters[i];
    return 999;
}
