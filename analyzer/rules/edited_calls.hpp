/// The calls that a remedy changes.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::rules {

/// Counted by call site. From them an edit is made, whose replay says what the remedy saves.
class EditedCalls {
public:
    /// `all`: calls of the site, whether or not they change; 0: as many as it has copies, if that is more.
    void add(const ids::CallSite& site, std::uint64_t count, std::uint64_t all = 0);
    void add(const EditedCalls& other);
    /// With all of these calls that change, `ns` of the thread's own time before them go, too.
    void add_time_before(const ids::CallSite& site, double ns) { sites_[site].before_ns += ns; }

    /// They are left out; the host needs `instead_ns` in all for what does their work.
    timeline::Edit gone(const Profile& profile, double instead_ns = 0) const;
    /// They return without a wait. What a copy's call takes beside its bytes holds the device no longer.
    /// `data_needed`: the host may look at what they brought.
    timeline::Edit asynchronous(const Profile& profile, bool data_needed = false) const;
    /// Their work gets a stream of its own.
    timeline::Edit own_stream(const Profile& profile) const;
    /// They take `ns` less in all; the host needs `added_ns` once, before the first.
    timeline::Edit shorter(const Profile& profile, double ns, double added_ns = 0) const;
    /// The same, of copies of `bytes` in all: the more of them a copy has, the more it saves.
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
