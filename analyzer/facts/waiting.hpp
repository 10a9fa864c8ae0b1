/// Which synchronisations wait for work.
#pragma once

#include "trace/event_records.hpp"

namespace umadvisor::facts {

inline bool waits_for_work(const trace::Sync& record) {
    return record.kind == trace::SyncKind::context || record.kind == trace::SyncKind::stream ||
           record.kind == trace::SyncKind::event;
}

} // namespace umadvisor::facts
