/// One line of driver_api.def becomes one wrapper here; a wrong signature does not compile.
#include "interposer/attach/wrapper_table.hpp"

#include "interposer/wrappers/allocation.hpp"
#include "interposer/wrappers/array.hpp"
#include "interposer/wrappers/context.hpp"
#include "interposer/wrappers/copy.hpp"
#include "interposer/wrappers/copy_batch.hpp"
#include "interposer/wrappers/graph.hpp"
#include "interposer/wrappers/launch.hpp"
#include "interposer/wrappers/lookup.hpp"
#include "interposer/wrappers/module.hpp"
#include "interposer/wrappers/placement.hpp"
#include "interposer/wrappers/placement_batch.hpp"
#include "interposer/wrappers/pointer.hpp"
#include "interposer/wrappers/pool.hpp"
#include "interposer/wrappers/profiler.hpp"
#include "interposer/wrappers/sharing.hpp"
#include "interposer/wrappers/stream.hpp"
#include "interposer/wrappers/virtual_memory.hpp"

namespace umadvisor::attach {

namespace {

/// Stands in the list for entries without a wrapper.
struct counted {};

template <Entry E, class Policy>
constexpr auto wrapper_of() {
    if constexpr (std::is_same_v<Policy, counted>)
        return static_cast<void (*)()>(nullptr);
    else
        return &wrappers::Hook<E, Policy, typename EntryTraits<E>::Function>::call;
}

} // namespace

using namespace wrappers;

void* const wrapper_table[entry_count] = {
#define API(symbol, handling) reinterpret_cast<void*>(wrapper_of<Entry::symbol, handling>()),
#include "interposer/driver_api.def"
};

} // namespace umadvisor::attach
