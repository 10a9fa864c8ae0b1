/// Records after which the order of the work is no longer known from calls alone.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "trace/event_records.hpp"
#include "trace/graph_records.hpp"
#include "trace/memory_records.hpp"

#include <algorithm>

namespace umadvisor::rules {

/// Streams wait for values in memory, or for all of a context.
inline bool hides_order(const trace::Stream& record) {
    using enum trace::StreamAction;
    return record.action != create && record.action != destroy && record.action != wait_event;
}
inline bool hides_order(const trace::Event& record) {
    return record.action == trace::EventAction::record_context;
}
inline bool hides_order(const trace::Context& record) {
    return record.action == trace::ContextAction::create_green ||
           record.action == trace::ContextAction::from_green;
}
/// Other processes and other interfaces order work by means of their own.
inline bool hides_order(const trace::Ipc&) {
    return true;
}
inline bool hides_order(const trace::External&) {
    return true;
}

/// An event that a graph records or waits for orders streams without a call.
inline bool graphs_have_events(const reader::Dictionary& dictionary) {
    return std::ranges::any_of(dictionary.graph_versions, [](const auto& version) {
        return std::ranges::any_of(version.second.nodes, [](const reader::GraphNode& node) {
            using enum trace::GraphNodeKind;
            return node.kind == event_record || node.kind == event_wait || node.kind == other;
        });
    });
}

} // namespace umadvisor::rules
