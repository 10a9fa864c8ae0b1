#include "analyzer/tables/noticed_allocations.hpp"

namespace umadvisor::tables {

NoticedAllocations::NoticedAllocations(std::span<const trace::Notice> notices) {
    for (const trace::Notice& notice : notices)
        if (known(notice.allocation))
            all_.try_emplace(notice.allocation);
}

void NoticedAllocations::add(const trace::Alloc& record) {
    if (all_.empty())
        return;
    if (const auto found = all_.find(record.allocation); found != all_.end() && record.status == 0)
        found->second = {record.entry, record.bytes, ids::StackId::of(record)};
}

} // namespace umadvisor::tables
