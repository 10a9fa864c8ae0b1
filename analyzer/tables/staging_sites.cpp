#include "analyzer/tables/staging_sites.hpp"

#include "policy/stage_plan.hpp"

namespace umadvisor::tables {

void StagingSites::add(const trace::Copy& record) {
    if (record.origin != trace::Origin::program || record.status != 0)
        return;
    if (record.staged != 0)
        sites_[record.stack].staged.add(record.bytes, record.duration);
    else if (record.reason == trace::Reason::never_stage)
        ++sites_[record.stack].left;
    else if (record.reason == trace::Reason::slower_staged)
        ++sites_[record.stack].given_up;
    else if (record.reason == trace::Reason::none &&
             policy::stage_direction(record) != policy::StageDirection::none)
        sites_[record.stack].stageable.add(record.bytes, record.duration);
}

} // namespace umadvisor::tables
