#include "analyzer/managed/managed_activity.hpp"

#include "analyzer/managed/untold_moves.hpp"
#include "analyzer/reader/outside.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t per_thread_stream = 2; // FORMAT.md

bool is_host(trace::Location location) {
    return location == trace::Location::host || location == trace::Location::host_numa ||
           location == trace::Location::host_numa_current;
}

/// The driver's, also where it was told not to look for thrashing.
residency::ThrashingParameters rule_of(const trace::ManagedSource* source) {
    residency::ThrashingParameters rule;
    if (source != nullptr && source->parameters_known != 0) {
        rule.threshold = static_cast<unsigned>(source->thrashing_threshold);
        rule.lapse = source->thrashing_lapse * 1000;
        rule.epoch = source->thrashing_epoch * 1000;
    }
    return rule;
}

constexpr std::uint64_t set_read_mostly = 1, set_preferred_location = 3, set_accessed_by = 5; // CUmem_advise

} // namespace

ManagedActivity::ManagedActivity(double ns_per_tick, const trace::ManagedSource* source,
                                 const reader::Dictionary& dictionary)
    : ManagedActivity(ns_per_tick, rule_of(source), dictionary) {}

ManagedActivity::ManagedActivity(double ns_per_tick, const residency::ThrashingParameters& rule,
                                 const reader::Dictionary& dictionary)
    : written_(dictionary), replay_(ns_per_tick, rule) {
    terms_.ns_per_tick = ns_per_tick;
    terms_.host_time_known = !dictionary.is_simulated();
    terms_.thrashing_lapse_ns = rule.lapse;
    terms_.thrashing_threshold = rule.threshold;
}

facts::WorkQueue ManagedActivity::queue_of(std::uint32_t thread, std::uint64_t stream) const {
    return {contexts_.of(thread, stream).context, stream == 1 ? 0 : stream, // the legacy stream has two names
            stream == per_thread_stream ? thread : 0};
}

void ManagedActivity::add(const trace::Alloc& record) {
    if (record.status != 0 || record.memory != trace::Memory::managed || record.bytes == 0)
        return;
    written_.add(record);
    ManagedAllocation& allocation = ranges_.add(record);
    const auto site =
        sites_.try_emplace({record.stack, record.entry, record.symbol, record.memory, record.origin}).first;
    allocation.site = &site->second;
    allocation.made_at = &site->first;
    allocation.account = ledger_.open(allocation.address, allocation.bytes(), site->second);
    site->second.allocated(record.bytes);
    for (ManagedAllocation* const other : ranges_.beside(allocation)) {
        if (other->made_at == allocation.made_at)
            continue;
        site->second.stands_beside(*other->made_at);
        other->site->stands_beside(site->first);
    }
    forget_expired();
}

void ManagedActivity::add(const trace::Free& record) {
    if (record.status != 0)
        return;
    if (const ManagedAllocation* const allocation = ranges_.remove(record)) {
        ledger_.close(allocation->account, record.start);
        forget_expired();
    }
}

void ManagedActivity::forget_expired() {
    while (const auto allocation = ranges_.next_expired()) {
        if (allocation->launched_on)
            std::erase(launched_on_, allocation.get());
        if (allocation->prefetched)
            std::erase(prefetched_, allocation.get());
        shared_.forget(*allocation);
        arrivals_.forget(*allocation);
        ledger_.close(allocation->account, allocation->until);
        judge(*allocation);
        allocation->site->take_blocks(*allocation);
    }
}

void ManagedActivity::judge(ManagedAllocation& allocation) {
    allocation.stays.finish();
    terms_.faults_told = totals_.ever_told(trace::ManagedEventKind::host_fault);
    terms_.thrashing_told = totals_.ever_told(trace::ManagedEventKind::thrashing);
    const Subject subject{allocation.stays, allocation.marks, terms_};
    for (const Verdict& verdict : managed::judge(subject))
        allocation.site->verdicts.add(verdict);
    if (allocation.marks.by_umadvisor)
        for (const WastedPrefetch& each : wasted_prefetches(subject))
            reader::add_saturated(wasted_[{each.why, each.stack}], each.bytes);
    allocation.site->late.add(late_candidates(subject));
    allocation.site->made_by_kernels(allocation.stays);
    const MovedBytes moved{allocation.stays.arrived(true), allocation.stays.arrived(false)};
    for (MovedBytes* const sum : {&allocation.site->by_stays, &by_stays_}) {
        reader::add_saturated(sum->to_device, moved.to_device);
        reader::add_saturated(sum->to_host, moved.to_host);
    }
    allocation.site->take_life(allocation);
}

void ManagedActivity::reach(ManagedAllocation& allocation, const facts::KernelSite& kernel,
                            const facts::WorkQueue& queue, std::uint64_t device, std::uint64_t start) {
    allocation.launches.launch(kernel, queue, device, start);
    allocation.site->launches.add(1, inside_);
    if (queue.context != 0) { // else nobody told on which device
        if (allocation.device && *allocation.device != device)
            allocation.site->devices.turn(facts::pair_of(*allocation.device, device), allocation.bytes());
        allocation.device = device;
    }
    allocation.stays.add({.time = start, .kind = UseKind::launch, .kernel = kernel, .queue = queue});
    shared_.use(allocation);
    arrivals_.launch(allocation, device);
    ledger_.reach(allocation.account, start);
    if (!std::exchange(allocation.launched_on, true))
        launched_on_.push_back(&allocation);
    totals_.reach(*allocation.site, &kernel);
    all_.launch(kernel, queue, device, start);
}

void ManagedActivity::reach_all(const reader::Shape& shape, std::uint64_t start, std::uint32_t thread) {
    const facts::KernelSite kernel{shape.function, shape.stack, shape.entry};
    const bool anywhere = !shape.scanned || shape.untold != 0;
    const facts::WorkQueue queue = queue_of(thread, shape.stream);
    const std::uint64_t device = contexts_.of(thread, shape.stream).device;
    for (std::size_t i = 0; i < shape.touched.size(); ++i)
        if (ManagedAllocation* const allocation = ranges_.find_live(shape.touched[i])) {
            ++allocation->marks.launches;
            allocation->marks.writing_launches += written_.may_write(shape, i);
            reach(*allocation, kernel, queue, device, start);
        }
    if (anywhere) {
        anywhere_.launch(kernel, queue, device, start);
        all_.launch(kernel, queue, device, start);
        totals_.reach_any();
        arrivals_.launch_anywhere();
        terms_.first_anywhere = std::min(terms_.first_anywhere, start);
        terms_.last_anywhere = std::max(terms_.last_anywhere, start);
    }
}

void ManagedActivity::reach(std::uint64_t id, const facts::KernelSite& kernel, const trace::GraphLaunch& record,
                            std::uint32_t thread) {
    ManagedAllocation* const allocation = ranges_.find_live(id);
    if (allocation == nullptr)
        return;
    ++allocation->marks.launches;
    ++allocation->marks.writing_launches; // which parameter of the kernel it is, is not known
    reach(*allocation, kernel, queue_of(thread, record.stream), contexts_.of(thread, record.stream).device,
          record.start);
}

void ManagedActivity::touch(std::uint64_t id, std::uint64_t time) {
    if (ManagedAllocation* const allocation = ranges_.find_live(id)) {
        totals_.reach(*allocation->site);
        arrivals_.host_touch(*allocation, time);
        arrivals_.touch(*allocation);
        ledger_.touch(allocation->account, time);
    }
}

void ManagedActivity::add(const trace::Prefetch& record) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (record.status != 0 || record.bytes == 0 || allocation == nullptr)
        return;
    totals_.reach(*allocation->site);
    shared_.use(*allocation);
    if (!std::exchange(allocation->prefetched, true))
        prefetched_.push_back(allocation);
    const bool to_host = is_host(record.location);
    if (to_host) {
        allocation->site->prefetched_to_host = true;
        shared_.prefetch_to_host();
        arrivals_.host_touch(*allocation, record.start);
        ledger_.prefetch_to_host(allocation->account, record.bytes, record.start);
    } else {
        arrivals_.prefetch(record.bytes);
        ledger_.reach(allocation->account, record.start);
    }
    allocation->marks.by_umadvisor =
        allocation->marks.by_umadvisor || record.origin == trace::Origin::umadvisor;
    const std::uint64_t offset = record.address - std::min(record.address, allocation->address);
    // From the device that had it to another: it was not there before, and it does not leave the devices.
    const bool passed_on = !to_host && allocation->device && *allocation->device != record.location_id;
    if (!passed_on)
        allocation->stays.add(
            {.time = record.start,
             .kind = to_host ? UseKind::prefetch_to_host : UseKind::prefetch_to_device,
             .offset = offset,
             .bytes = std::min(record.bytes, allocation->bytes() - std::min(offset, allocation->bytes())),
             .place = record.stack});
    allocation->add({record.address, record.address + std::min(record.bytes - 1, UINT64_MAX - record.address),
                     record.start, record.stack, record.entry, is_host(record.location),
                     record.origin == trace::Origin::umadvisor});
}

void ManagedActivity::add(const trace::Advise& record) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (record.status != 0 || allocation == nullptr)
        return;
    if (record.advice == set_read_mostly)
        allocation->site->read_mostly = true;
    if ((record.advice == set_preferred_location && is_host(record.location)) ||
        (record.advice == set_accessed_by && record.location == trace::Location::device))
        allocation->marks.far_advised = true;
}

void ManagedActivity::add(const trace::Residency& record) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (allocation == nullptr || record.pages == 0 || record.offset != 0)
        return;
    // A part of a large allocation stands for all of it.
    const double share =
        std::min(1.0, static_cast<double>(record.host_pages) / static_cast<double>(record.pages));
    const std::uint64_t on_host = reader::saturated(share * static_cast<double>(allocation->bytes()));
    if (totals_.tells(trace::ManagedEventKind::host_fault))
        arrivals_.look(*allocation, on_host, record.start);
    ledger_.look(allocation->account, share, record.start);
    allocation->stays.add({.time = record.start,
                           .kind = record.moment == trace::SampleMoment::after_synchronize
                                       ? UseKind::look_after_wait
                                       : UseKind::look_before_launch,
                           .faults_told = totals_.tells(trace::ManagedEventKind::host_fault),
                           .host_bytes = on_host,
                           .content = record.content,
                           .lone_line = record.lone_line,
                           .regularity = record.regularity});
}

void ManagedActivity::add(const trace::Set& record) {
    touch(record.allocation, record.start);
}

void ManagedActivity::add(const trace::Copy& record, std::uint32_t thread) {
    if (sites_.empty())
        return;
    touch(record.source_allocation, record.start);
    touch(record.destination_allocation, record.start);
    // It returns when it is done, and so is what came before it in its stream.
    if (record.status == 0 && record.asynchronous == 0)
        wait({false, queue_of(thread, record.stream), UINT64_MAX,
              reader::saturated_sum(record.start, record.duration)});
}

void ManagedActivity::add(const trace::Event& record, std::uint32_t thread) {
    if (sites_.empty()) // nothing that may be waited for
        return;
    if (record.action == trace::EventAction::destroy)
        events_.destroy(record.event);
    else if (record.action == trace::EventAction::record && record.status == 0)
        events_.record(record.event, queue_of(thread, record.stream), record.start);
}

void ManagedActivity::add(const trace::Sync& record, std::uint32_t thread) {
    if (sites_.empty() || record.status != 0) // queries of what still runs among them
        return;
    facts::Waited waited;
    waited.end = reader::saturated_sum(record.start, record.duration);
    switch (record.kind) {
    case trace::SyncKind::context:
        waited.whole_context = true;
        waited.queue = queue_of(thread, 0);
        return wait(waited);
    case trace::SyncKind::stream:
    case trace::SyncKind::stream_query:
        waited.queue = queue_of(thread, record.object);
        return wait(waited);
    case trace::SyncKind::event:
    case trace::SyncKind::event_query:
        if (events_.find(record.object, waited))
            wait(waited);
    }
}

void ManagedActivity::wait(const facts::Waited& waited) {
    anywhere_.wait(waited);
    const bool running = all_.wait(waited);
    std::erase_if(launched_on_, [&waited, this](ManagedAllocation* allocation) {
        allocation->launched_on = allocation->launches.wait(waited);
        if (!allocation->launched_on) {
            allocation->stays.add({.time = waited.end, .kind = UseKind::wait});
            ledger_.wait(allocation->account, waited.end);
        }
        return !allocation->launched_on;
    });
    for (ManagedAllocation* const allocation : prefetched_) {
        allocation->prefetched = false;
        if (!allocation->launched_on) {
            allocation->stays.add({.time = waited.end, .kind = UseKind::wait});
            ledger_.wait(allocation->account, waited.end);
        }
    }
    prefetched_.clear();
    if (launched_on_.empty() && !running)
        arrivals_.waited(waited.end);
}

std::vector<facts::KernelSite> ManagedActivity::candidates(const ManagedAllocation* allocation,
                                                           std::uint64_t time, std::uint64_t device) const {
    std::vector<facts::KernelSite> sites;
    if (allocation != nullptr) {
        allocation->launches.running_at(time, device, sites);
        anywhere_.running_at(time, device, sites);
    } else {
        all_.running_at(time, device, sites);
    }
    return sites;
}

void ManagedActivity::attribute_migration(ManagedAllocation& allocation, const BlockActivity& block,
                                          const trace::ManagedEvent& record) {
    ManagedSiteActivity& site = *allocation.site;
    const MoveDirection direction = direction_of(record);
    ledger_.told(allocation.account,
                 {direction == MoveDirection::to_device ? record.bytes : 0,
                  direction == MoveDirection::to_host ? record.bytes : 0},
                 record.start);
    const auto cause = static_cast<trace::MigrationCause>(record.cause);
    const auto bytes = static_cast<double>(record.bytes);
    if (direction == MoveDirection::to_host || cause == trace::MigrationCause::user)
        site.moves.add(bytes, inside_);
    if (cause == trace::MigrationCause::user) {
        const PrefetchCall* const call =
            allocation.find_prefetch(record.address, record.start, direction == MoveDirection::to_host);
        site.prefetched(call == nullptr ? PrefetchSite{}
                                        : PrefetchSite{call->stack, call->entry, call->by_umadvisor},
                        direction, record.bytes);
    } else if (direction != MoveDirection::to_host) {
        if (direction == MoveDirection::between_devices && record.from != record.to)
            site.devices.moved(facts::pair_of(record.from - 1, record.to - 1), record.bytes);
        const std::vector<facts::KernelSite> movers = candidates(&allocation, record.start, record.to - 1);
        // What was launched inside belongs there also when it ran later.
        site.moves.add(bytes, movers.empty() ? inside_
                                             : std::ranges::any_of(movers, [](const facts::KernelSite& kernel) {
                                                   return !reader::is_outside(kernel.stack);
                                               }));
        site.kernels.add(movers, bytes, 0);
    } else if (cause != trace::MigrationCause::eviction) {
        site.touched_by_host(block.host_code, 0, record.bytes);
    } else {
        site.evictors.add(candidates(nullptr, record.start, record.from - 1), bytes, 0);
        reader::add_saturated(allocation.marks.evicted_bytes, record.bytes);
    }
}

void ManagedActivity::add(const trace::ManagedEvent& record) {
    totals_.add(record);
    ManagedAllocation* const allocation = ranges_.find(record.address, record.start);
    if (allocation == nullptr) {
        totals_.reach_any();
        return unattributed_.add(record);
    }
    ManagedSiteActivity& site = *allocation->site;
    totals_.reach(site);
    site.told.add(record);
    reader::add_saturated(allocation->marks.replayed_pages, replay_.add(record));
    const std::uint64_t first = record.address - allocation->base();
    const std::uint64_t length = record.bytes == 0 ? 0 : record.bytes - 1;
    const BlockActivity& block =
        allocation->blocks.add(record, first, first + std::min(length, allocation->last - record.address));
    switch (record.kind) {
    case trace::ManagedEventKind::host_fault:
        site.touched_by_host(record.code, faults_of(record), 0);
        shared_.use(*allocation);
        shared_.share_late(*allocation, record.start);
        arrivals_.host_touch(*allocation, record.start);
        ledger_.host_faults(allocation->account, faults_of(record), record.start);
        allocation->stays.add({.time = record.start,
                               .kind = UseKind::host_fault,
                               .offset = record.address - allocation->address,
                               .bytes = record.bytes,
                               .count = faults_of(record),
                               .place = record.code,
                               .write = record.cause != static_cast<std::uint64_t>(trace::FaultAccess::read)});
        break;
    case trace::ManagedEventKind::thrashing:
        reader::add_saturated(allocation->marks.thrashing_pages, record.bytes / page);
        break;
    case trace::ManagedEventKind::remote_map:
        reader::add_saturated(allocation->marks.remote_pages, record.bytes / page);
        break;
    case trace::ManagedEventKind::device_fault:
        site.kernels.add(candidates(allocation, record.start, record.to - 1), 0,
                         static_cast<double>(faults_of(record)));
        break;
    case trace::ManagedEventKind::migration:
        attribute_migration(*allocation, block, record);
        break;
    default:
        break;
    }
}

void ManagedActivity::add(const trace::ManagedCounters& record) {
    const trace::ManagedCounters before =
        totals_.exact() != nullptr ? *totals_.exact() : trace::ManagedCounters{};
    shared_.share(before, record, totals_.tells(trace::ManagedEventKind::migration), launched_on_);
    const MovedBytes moved{record.bytes_to_device - std::min(record.bytes_to_device, before.bytes_to_device),
                           record.bytes_to_host - std::min(record.bytes_to_host, before.bytes_to_host)};
    arrivals_.moved(moved.to_device, moved.to_host);
    ledger_.totals(moved, record.start);
    told_ = record.start;
    if (const std::optional<UntoldInterval> untold = totals_.add(record)) {
        totals_.set_apart(untold->moved);
        reader::add_saturated(untold->site->by_launches.to_device, untold->moved.to_device);
        reader::add_saturated(untold->site->by_launches.to_host, untold->moved.to_host);
        untold->site->kernels.add(untold->kernels, static_cast<double>(untold->moved.to_device), 0);
    }
    // What still runs reaches its memory in the next interval, too.
    std::vector<facts::KernelSite> running;
    anywhere_.outstanding(running);
    if (!running.empty())
        totals_.reach_any();
    for (const ManagedAllocation* const allocation : launched_on_) {
        running.clear();
        allocation->launches.outstanding(running);
        for (const facts::KernelSite& kernel : running)
            totals_.reach(*allocation->site, &kernel);
    }
}

void ManagedActivity::finish() {
    arrivals_.finish(told_);
    ledger_.finish();
    ranges_.for_each([this](ManagedAllocation& allocation) {
        judge(allocation);
        allocation.site->take_blocks(allocation);
    });
    if (!totals_.shares_out())
        return;
    std::vector<ManagedSiteActivity*> sites;
    for (auto& [line, site] : sites_)
        sites.push_back(&site);
    untold_ = share_untold(sites, totals_);
}

} // namespace umadvisor::managed
