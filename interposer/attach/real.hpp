/// The driver's own functions.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/record/lock_check.hpp"

namespace umadvisor::attach {

/// The answer of an entry point that this driver lacks: always CUDA_ERROR_NOT_SUPPORTED. Never a null pointer.
CUresult CUDAAPI missing_entry() noexcept;

extern "C" {
/// Addresses in the driver, by entry; `missing_entry` where it lacks one and everywhere before the driver is
/// found. Written once, by the thread that finds the driver, before any code can hold a wrapper; read by
/// assembly too.
extern void* umadvisor_real_table[entry_count] __attribute__((visibility("hidden")));
}

/// The driver's function of that exact exported symbol, for a call that the program itself makes. Thread-safe.
template <Entry E>
auto forwarded() noexcept {
    return reinterpret_cast<typename EntryTraits<E>::Function>(umadvisor_real_table[index(E)]);
}

/// The same, for a call at once: no lock of ours is held. Thread-safe.
template <Entry E>
auto real() noexcept {
    record::assert_no_lock(entry_names[index(E)].data());
    return forwarded<E>();
}

/// Whether this driver has the entry point.
inline bool available(Entry entry) noexcept {
    return umadvisor_real_table[index(entry)] != reinterpret_cast<void*>(&missing_entry);
}

} // namespace umadvisor::attach
