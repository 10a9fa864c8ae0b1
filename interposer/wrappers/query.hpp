/// Queries of the driver, recorded for their time.
#pragma once

#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// Not in a pause: nothing that is recorded later refers to a query.
void finish_query(trace::Query& record) noexcept;

/// Asks the driver.
template <Entry E, class... Arguments>
CUresult ask(Arguments... arguments) noexcept {
    trace::Query record;
    const CUresult result = timed<E>(record, arguments...);
    finish_query(record);
    return result;
}

} // namespace umadvisor::wrappers
