/// Calls that were answered before they were made.
#pragma once

#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"

namespace umadvisor::facts {

/// Returns whether the driver was not called for the record. A later record, of umadvisor's own, has the call
/// that was made for it and its neighbours.
inline bool is_deferred(const trace::Prefetch& record) {
    return record.reason == trace::Reason::joined && record.origin == trace::Origin::program;
}

inline bool is_deferred(const trace::Copy& record) {
    return record.reason == trace::Reason::batched && record.origin == trace::Origin::program;
}

} // namespace umadvisor::facts
