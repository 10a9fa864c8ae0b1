/// Devices that reach each other's memory, and copies between them.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "trace/records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace umadvisor::facts {

/// Two devices, the lower ordinal first.
struct DevicePair {
    std::uint64_t low = 0, high = 0;
    auto operator<=>(const DevicePair&) const = default;
};

inline DevicePair pair_of(std::uint64_t device, std::uint64_t other) {
    return device < other ? DevicePair{device, other} : DevicePair{other, device};
}

/// The ways of a copy from one device to another.
struct PeerCopy {
    std::uint64_t from = 0, to = 0;
    /// It depends on peer access: both ends are of cuMemAlloc. Pools and mapped ranges have access rights of
    /// their own.
    bool plain = true;
    DevicePair pair() const { return pair_of(from, to); }
};

/// Follows what the program enables. Memory: one entry a live allocation of device memory, and one for two
/// devices.
class Peers {
public:
    /// It must outlive this.
    explicit Peers(const reader::Dictionary& dictionary);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) {
        if (record.status == 0 && record.captured == 0)
            places_.erase(record.allocation);
    }
    void add(const trace::Peer& record);

    /// Nothing: the copy stays within a device, or the trace does not show where its memory lies.
    std::optional<PeerCopy> between_devices(const trace::Copy& copy) const;

    /// Whether access is enabled now, whichever way.
    bool enabled(const DevicePair& pair) const { return enabled_.contains(pair); }
    /// Whether the program has asked for access so far, or has given it up.
    bool asked_for(const DevicePair& pair) const { return asked_for_.contains(pair); }
    /// Whether the driver says that each could reach the other's memory; false where the trace has no answer.
    bool possible(const DevicePair& pair) const;
    /// Whether they have a link of their own, as NVLink is one.
    bool linked(const DevicePair& pair) const;

private:
    struct Place {
        std::uint64_t device = 0;
        bool plain = false;
    };
    const reader::Dictionary& dictionary_;
    std::map<DevicePair, trace::PeerLink> links_;
    reader::FlatMap<Place, trace::AllocationId> places_; ///< by allocation
    std::set<DevicePair> enabled_, asked_for_;
};

} // namespace umadvisor::facts
