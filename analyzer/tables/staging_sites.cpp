#include "analyzer/tables/staging_sites.hpp"

#include "policy/stage_plan.hpp"

namespace umadvisor::tables {

void StagingSites::add(const trace::Copy& record) {
    if (record.origin != trace::Origin::program || record.status != 0)
        return;
    if (record.staged != 0)
        sites_[ids::StackId::of(record)].staged.add(record.bytes, record.duration);
    else if (record.reason == trace::Reason::never_stage)
        ++sites_[ids::StackId::of(record)].left;
    else if (record.reason == trace::Reason::slower_staged)
        ++sites_[ids::StackId::of(record)].given_up;
    else if (record.reason == trace::Reason::none &&
             policy::stage_direction(record) != policy::StageDirection::none)
        sites_[ids::StackId::of(record)].stageable.add(record.bytes, record.duration);
}

} // namespace umadvisor::tables
