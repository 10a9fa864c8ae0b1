/// The calls that a remedy changes.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::rules {

/// Counts calls by site and makes an edit from them, whose replay shows what the remedy saves.
class EditedCalls {
public:
    /// `all`: calls of the site, whether or not they change; 0: as many as it has copies, if that is more.
    void add(const ids::CallSite& site, std::uint64_t count, std::uint64_t all = 0);
    void add(const EditedCalls& other);
    /// If all of these calls change, `ns` of the thread's own time before them is saved, too.
    void add_time_before(const ids::CallSite& site, double ns) { sites_[site].before_ns += ns; }

    /// The calls are left out; the host needs `instead_ns` in all for what replaces them.
    timeline::Edit gone(const Profile& profile, double instead_ns = 0) const;
    /// The calls return without a wait. What a copy's call takes beside its bytes no longer holds the device.
    /// `data_needed`: the host may look at what they brought.
    timeline::Edit asynchronous(const Profile& profile, bool data_needed = false) const;
    /// The calls' work gets a stream of its own.
    timeline::Edit own_stream(const Profile& profile) const;
    /// The calls take `ns` less in all; the host needs `added_ns` once, before the first.
    timeline::Edit shorter(const Profile& profile, double ns, double added_ns = 0) const;
    /// The same for copies of `bytes` in all: each saves in proportion to its bytes.
    timeline::Edit faster(const Profile& profile, std::uint64_t bytes, double ns, double added_ns = 0) const;

private:
    struct Count {
        std::uint64_t changed = 0, all = 0;
        double before_ns = 0;
    };
    timeline::Edit edit(const Profile& profile, const timeline::Change& each) const;

    std::uint64_t count_ = 0;
    std::map<ids::CallSite, Count> sites_;
};

} // namespace umadvisor::rules
