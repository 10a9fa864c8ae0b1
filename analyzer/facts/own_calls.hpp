/// Which records are calls of the program.
#pragma once

#include "trace/event_records.hpp"

#include <type_traits>

namespace umadvisor::facts {

/// False for what umadvisor did itself, and for what another record has counted already: the parts of a call,
/// and all but the first of a batch.
template <class Record>
bool is_program_call(const Record& record) {
    if constexpr (requires { record.origin; })
        if (record.origin == trace::Origin::umadvisor && !std::is_same_v<Record, trace::Alloc>)
            return false;
    if constexpr (requires { record.part; })
        if (record.part != 0)
            return false;
    if constexpr (requires { record.batch; })
        if (record.batch > 1)
            return false;
    return true;
}

} // namespace umadvisor::facts
