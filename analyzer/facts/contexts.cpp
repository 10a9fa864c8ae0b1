#include "analyzer/facts/contexts.hpp"

namespace umadvisor::facts {
namespace {

template <class Key>
std::uint64_t value_of(const std::unordered_map<Key, std::uint64_t>& in, Key key) {
    const auto found = in.find(key);
    return found == in.end() ? 0 : found->second;
}

} // namespace

std::uint64_t Contexts::current(std::uint32_t thread) const {
    const auto found = current_.find(thread);
    return found == current_.end() ? 0 : found->second;
}

void Contexts::add(const trace::Context& record, std::uint32_t thread) {
    if (record.action == trace::ContextAction::set_current) // a failed call's record names it, too
        current_[thread] = record.context;
    else if (record.status != 0)
        return;
    if (record.action == trace::ContextAction::create)
        current_[thread] = record.context;
    // The driver reuses handles: the last context made under one is meant.
    const bool green = record.action == trace::ContextAction::create_green;
    if (const std::uint64_t handle = green ? record.green : record.context;
        handle != 0 && record.action != trace::ContextAction::destroy)
        devices_[handle] = record.device;
}

void Contexts::add(const trace::Stream& record, std::uint32_t thread) {
    if (record.action == trace::StreamAction::create && record.status == 0)
        streams_[record.stream] = record.context != 0 ? record.context : current(thread);
    else if (record.action == trace::StreamAction::destroy)
        streams_.erase(record.stream);
}

Contexts::Place Contexts::of(std::uint32_t thread, trace::StreamId stream) const {
    const std::uint64_t context = stream > stream_of_the_thread ? value_of(streams_, stream) : current(thread);
    return {context, value_of(devices_, context)};
}

} // namespace umadvisor::facts
