/// The wrappers of the entry points that are recorded in full.
#pragma once

#include "interposer/attach/entries.hpp"

namespace umadvisor::attach {

/// By entry; null where calls are only counted.
extern void* const wrapper_table[entry_count];

} // namespace umadvisor::attach
