#include "analyzer/tables/exported_sites.hpp"

#include <iterator>

namespace umadvisor::tables {

void ExportedSites::add(const trace::Alloc& record) {
    if (record.reason == trace::Reason::never_rewrite)
        ++sites_[ids::StackId::of(record)].left;
    else if (record.origin == trace::Origin::umadvisor && record.status == 0)
        live_.insert_or_assign(record.address, Rewritten{record.bytes, ids::StackId::of(record)});
}

void ExportedSites::add(const trace::Free& record) {
    if (record.status == 0)
        live_.erase(record.address);
}

void ExportedSites::add(const trace::Ipc& record) {
    if (record.action != trace::IpcAction::export_memory || record.status == 0)
        return;
    const auto next = live_.upper_bound(record.address);
    if (next == live_.begin())
        return;
    const auto& [address, rewritten] = *std::prev(next);
    if (record.address - address < rewritten.bytes)
        ++sites_[rewritten.stack].refused;
}

} // namespace umadvisor::tables
