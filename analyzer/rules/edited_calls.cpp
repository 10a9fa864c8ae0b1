#include "analyzer/rules/edited_calls.hpp"

#include "analyzer/facts/call.hpp"

#include <algorithm>

namespace umadvisor::rules {

using What = timeline::Change::What;

void EditedCalls::add(const ids::CallSite& site, std::uint64_t count, std::uint64_t all) {
    Count& sum = sites_[site];
    sum.changed += count;
    sum.all += all;
    count_ += count;
}

void EditedCalls::add(const EditedCalls& other) {
    for (const auto& [site, count] : other.sites_)
        add(site, count.changed, count.all);
    for (const auto& [site, count] : other.sites_)
        add_time_before(site, count.before_ns);
}

timeline::Edit EditedCalls::edit(const Profile& profile, const timeline::Change& each) const {
    timeline::Edit edit;
    for (const auto& [site, count] : sites_) {
        const std::uint64_t all = std::max({count.changed, count.all, profile.copies().calls_of(site)});
        if (count.changed == 0)
            continue;
        edit.changes.push_back(each);
        edit.changes.back().site = site;
        edit.changes.back().share = static_cast<double>(count.changed) / static_cast<double>(all);
        edit.changes.back().less_before_ns = count.before_ns / static_cast<double>(count.changed);
        if (edit.changes.size() > 1)
            edit.changes.back().added_ns = 0;
    }
    return edit;
}

timeline::Edit EditedCalls::gone(const Profile& profile, double instead_ns) const {
    timeline::Change each;
    each.what = What::gone;
    each.added_each_ns = count_ == 0 ? 0 : instead_ns / static_cast<double>(count_);
    return edit(profile, each);
}

timeline::Edit EditedCalls::asynchronous(const Profile& profile, bool data_needed) const {
    timeline::Change each;
    each.data_needed = data_needed;
    each.what = What::asynchronous;
    each.less_ns = std::max(0.0, profile.rates().small_copy_ns - facts::least_work_ns);
    return edit(profile, each);
}

timeline::Edit EditedCalls::own_stream(const Profile& profile) const {
    timeline::Change each;
    each.what = What::own_stream;
    timeline::Edit all = edit(profile, each);
    for (timeline::Change& change : all.changes)
        change.share = 1; // those that keep nothing waiting, too
    return all;
}

timeline::Edit EditedCalls::shorter(const Profile& profile, double ns, double added_ns) const {
    timeline::Change each;
    each.what = What::shorter;
    each.less_ns = count_ == 0 ? 0 : ns / static_cast<double>(count_);
    each.added_ns = added_ns;
    return edit(profile, each);
}

timeline::Edit EditedCalls::faster(const Profile& profile, std::uint64_t bytes, double ns,
                                   double added_ns) const {
    timeline::Change each;
    each.what = What::shorter;
    each.less_ns_per_byte = bytes == 0 ? 0 : ns / static_cast<double>(bytes);
    each.added_ns = added_ns;
    return edit(profile, each);
}

} // namespace umadvisor::rules
