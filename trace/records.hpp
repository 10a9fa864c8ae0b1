/// Every record of the format, and the way from a type number to its record.
#pragma once

#include "trace/copy_records.hpp"
#include "trace/definitions.hpp"
#include "trace/event_records.hpp"
#include "trace/graph_records.hpp"
#include "trace/lifecycle_records.hpp"
#include "trace/managed_records.hpp"
#include "trace/memory_records.hpp"
#include "trace/python_records.hpp"

namespace umadvisor::trace {

/// Calls `v.template operator()<R>()` for the record of `type`; false where this version knows none.
template <class Visitor>
bool visit_type(Type type, Visitor&& v) {
    switch (type) {
#define EVENT(R)                                                                                               \
    case R::type:                                                                                              \
        v.template operator()<R>();                                                                            \
        return true;
#define DEFINITION(R) EVENT(R)
#include "trace/records.def"
    }
    return false;
}

} // namespace umadvisor::trace
