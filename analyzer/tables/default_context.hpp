/// A context on the device that is current when a program has chosen none, and whether anything used it.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"
#include "trace/event_records.hpp"
#include "trace/memory_records.hpp"

#include <cstdint>
#include <optional>

namespace umadvisor::tables {

/// CUDA makes a context on device 0 in the first call of a program that has not chosen another. One that works
/// on another device alone has no use for it.
class DefaultContext {
public:
    struct Made {
        ids::CallSite site;
        std::uint64_t ticks = 0; ///< of the call
    };

    void add(const trace::Context& record) {
        using enum trace::ContextAction;
        if (record.status == 0 && record.device == 0 && !made_ &&
            (record.action == create || record.action == retain_primary))
            made_ = {ids::CallSite::of(record), record.duration};
        used_ |= record.action == create_green && record.device == 0;
    }
    /// A little may be the runtime's own, or a library's.
    void add(const trace::Alloc& record) {
        const bool of_device = !facts::is_host_memory(record.memory);
        used_ |= record.device == 0 && record.bytes >= least_bytes && of_device;
        other_named_ |= record.device != 0 && of_device;
    }
    void add(const trace::Peer& record) {
        used_ |= record.device == 0 || record.peer == 0;
        other_named_ = true;
    }
    void add(const trace::Prefetch& record) {
        const bool to_device = record.location == trace::Location::device;
        used_ |= to_device && record.location_id == 0;
        other_named_ |= to_device && record.location_id != 0;
    }
    void add(const trace::Ipc&) { used_ = true; }
    /// `device` was given work.
    void work(std::uint64_t device) { (device == 0 ? used_ : other_used_) = true; }

    /// Returns whether the run used device 0, and no memory or work of it names another.
    bool only_used() const { return used_ && !other_used_ && !other_named_; }

    /// Nothing: there is none, something used it, or no other device was used.
    std::optional<Made> unused() const { return used_ || !other_used_ ? std::nullopt : made_; }

private:
    static constexpr std::uint64_t least_bytes = 2 << 20; ///< what the driver maps at the least

    std::optional<Made> made_;
    bool used_ = false, other_used_ = false;
    bool other_named_ = false; ///< in a call that gives it no work
};

} // namespace umadvisor::tables
