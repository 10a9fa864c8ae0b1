#include "analyzer/managed/managed_activity.hpp"

#include "analyzer/facts/deferred.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

bool is_host(trace::Location location) {
    return location == trace::Location::host || location == trace::Location::host_numa ||
           location == trace::Location::host_numa_current;
}

/// The driver's parameters, also where its search for thrashing is off.
residency::ThrashingParameters rule_of(const trace::ManagedSource* source) {
    residency::ThrashingParameters rule;
    if (source != nullptr && source->parameters_known != 0) {
        rule.threshold = static_cast<unsigned>(source->thrashing_threshold);
        rule.lapse = source->thrashing_lapse * 1000;
        rule.epoch = source->thrashing_epoch * 1000;
    }
    return rule;
}

/// Equal within a quarter, since host and device that use memory at the same time make no stays.
bool alike(std::uint64_t seen, std::uint64_t counted) {
    return std::max(seen, counted) - std::min(seen, counted) <= counted / 4;
}

std::uint64_t scaled(std::uint64_t part, std::uint64_t all, std::uint64_t whole) {
    return all == 0 ? 0
                    : reader::saturated(static_cast<double>(part) *
                                        (static_cast<double>(whole) / static_cast<double>(all)));
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

facts::WorkQueue ManagedActivity::queue_of(std::uint32_t thread, trace::StreamId stream) const {
    return {contexts_.of(thread, stream).context,
            stream == facts::other_legacy_stream ? facts::legacy_stream
                                                 : stream, // the legacy stream has two names
            stream == facts::stream_of_the_thread ? thread : 0};
}

void ManagedActivity::add(const trace::Alloc& record) {
    if (record.status != 0 || record.memory != trace::Memory::managed || record.bytes == 0)
        return;
    written_.add(record);
    ManagedAllocation& allocation = ranges_.add(record);
    const auto site =
        sites_.try_emplace({ids::CallSite::of(record), record.symbol, record.memory, record.origin}).first;
    allocation.site = &site->second;
    allocation.made_at = &site->first;
    allocation.number = ledger_.open(allocation.address, allocation.bytes(), site->second);
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
        ledger_.close(allocation->number, record.start);
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
        ledger_.close(allocation->number, allocation->until);
        judge(*allocation);
        allocation->site->take_blocks(*allocation);
    }
}

void ManagedActivity::judge(ManagedAllocation& allocation) {
    allocation.stays.finish();
    terms_.faults_known = totals_.ever_recorded(trace::ManagedEventKind::host_fault);
    terms_.thrashing_known = totals_.ever_recorded(trace::ManagedEventKind::thrashing);
    const Subject subject{allocation.stays, allocation.marks, terms_};
    for (const Verdict& verdict : managed::judge(subject))
        allocation.site->verdicts.add(verdict);
    if (allocation.marks.by_umadvisor)
        for (const WastedPrefetch& each : wasted_prefetches(subject))
            reader::add_saturated(wasted_[{each.why, each.stack}], each.bytes);
    const bool read_only = allocation.marks.writing_launches == 0 && terms_.first_anywhere == UINT64_MAX;
    for (const auto& [pair, passed] : allocation.passed_on)
        allocation.site->devices.passed_on(pair, read_only ? passed.first : PassedOn{},
                                           read_only ? PassedOn{} : passed.second);
    allocation.site->late.add(late_candidates(subject));
    allocation.site->made_by_kernels(allocation.stays);
    allocation.site->seen.add({allocation.stays.arrived(true), allocation.stays.arrived(false)});
    allocation.site->take_life(allocation);
}

void ManagedActivity::reach(ManagedAllocation& allocation, const facts::KernelSite& kernel,
                            const facts::WorkQueue& queue, std::uint64_t device, std::uint64_t start) {
    allocation.launches.launch(kernel, queue, device, start);
    allocation.site->launches.add(1, inside_);
    if (queue.context != 0) { // else the device is not known
        if (allocation.device && *allocation.device != device)
            allocation.site->devices.turn(facts::pair_of(*allocation.device, device), allocation.bytes());
        allocation.device = device;
    }
    allocation.joins = joins_;
    allocation.stays.add({.time = start, .kind = UseKind::launch, .kernel = kernel, .queue = queue});
    shared_.use(allocation);
    arrivals_.launch(allocation, device);
    ledger_.reach(allocation.number, start);
    if (!std::exchange(allocation.launched_on, true))
        launched_on_.push_back(&allocation);
    totals_.use();
    ledger_.run(kernel);
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
        totals_.use();
        ledger_.use_unknown();
        arrivals_.launch_anywhere();
        terms_.first_anywhere = std::min(terms_.first_anywhere, start);
        terms_.last_anywhere = std::max(terms_.last_anywhere, start);
    }
}

void ManagedActivity::reach(trace::AllocationId id, const facts::KernelSite& kernel,
                            const trace::GraphLaunch& record, std::uint32_t thread) {
    ManagedAllocation* const allocation = ranges_.find_live(id);
    if (allocation == nullptr)
        return;
    ++allocation->marks.launches;
    ++allocation->marks.writing_launches; // which parameter of the kernel it is, is not known
    reach(*allocation, kernel, queue_of(thread, record.stream), contexts_.of(thread, record.stream).device,
          record.start);
}

void ManagedActivity::touch(trace::AllocationId id, std::uint64_t time) {
    if (ManagedAllocation* const allocation = ranges_.find_live(id)) {
        totals_.use();
        arrivals_.host_touch(*allocation, time);
        arrivals_.touch(*allocation);
        allocation->on_device = {};
        allocation->touched = time;
        ledger_.touch(allocation->number, time);
    }
}

/// Between devices: what is prefetched to one while the other has it leaves that one.
void ManagedActivity::pass_on(ManagedAllocation& allocation, const trace::Prefetch& record,
                              std::uint32_t thread) {
    const Prefetched before = std::exchange(allocation.on_device, {});
    if (is_host(record.location) || record.discarded != 0 || record.origin != trace::Origin::program ||
        allocation.site->read_mostly)
        return;
    const std::uint64_t end = reader::saturated_sum(record.address, record.bytes);
    const std::uint64_t bit = record.location_id < 64 ? std::uint64_t{1} << record.location_id : 0;
    allocation.on_device = {record.location_id, record.address, end, std::nullopt, before.had | bit};
    const std::uint64_t first = std::max(before.first, record.address), last = std::min(before.end, end);
    if (first >= last || before.device == record.location_id || allocation.device != before.device)
        return;
    auto& [again, torn] = allocation.passed_on[facts::pair_of(before.device, record.location_id)];
    const PassedOn passed{1, last - first, ids::StackId::of(record)};
    if ((before.had & bit) != 0)
        again.add(passed);
    // In a stream of the device that has it, the call waits for that device's kernels.
    const bool tears = allocation.launched_on && allocation.joins == joins_ &&
                       contexts_.of(thread, record.stream).device == record.location_id;
    if (tears)
        allocation.on_device.torn_from = before.device;
    if (tears || before.torn_from == record.location_id)
        torn.add(passed);
}

void ManagedActivity::add(const trace::Prefetch& record, std::uint32_t thread) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (record.status != 0 || record.bytes == 0 || allocation == nullptr || facts::is_deferred(record))
        return;
    totals_.use();
    shared_.use(*allocation);
    if (!std::exchange(allocation->prefetched, true))
        prefetched_.push_back(allocation);
    const bool to_host = is_host(record.location);
    if (to_host) {
        shared_.prefetch_to_host();
        arrivals_.host_touch(*allocation, record.start);
        ledger_.prefetch_to_host(allocation->number, record.bytes, record.start);
    } else {
        arrivals_.prefetch(record.bytes);
        ledger_.reach(allocation->number, record.start);
    }
    allocation->marks.by_umadvisor =
        allocation->marks.by_umadvisor || record.origin == trace::Origin::umadvisor;
    const std::uint64_t offset = record.address - std::min(record.address, allocation->address);
    // From the device that had it to another: it was not there before, and it does not leave the devices.
    const bool passed_on = !to_host && allocation->on_another(record);
    pass_on(*allocation, record, thread);
    if (!passed_on)
        allocation->stays.add(
            {.time = record.start,
             .kind = to_host ? UseKind::prefetch_to_host : UseKind::prefetch_to_device,
             .offset = offset,
             .bytes = std::min(record.bytes, allocation->bytes() - std::min(offset, allocation->bytes())),
             .place = ids::StackId::of(record)});
    allocation->add({record.address, record.address + std::min(record.bytes - 1, UINT64_MAX - record.address),
                     record.start, ids::CallSite::of(record), to_host,
                     record.origin == trace::Origin::umadvisor, record.location_id});
}

void ManagedActivity::add(const trace::Advise& record) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (record.status != 0 || allocation == nullptr)
        return;
    if (record.advice == set_read_mostly)
        allocation->site->read_mostly = true;
    const bool on_host = record.advice == set_preferred_location && is_host(record.location);
    if (!on_host && (record.advice != set_accessed_by || record.location != trace::Location::device))
        return;
    allocation->marks.far_advised = true;
    ids::StackId& advised = on_host ? allocation->site->preferred_on_host : allocation->site->mapped_by_device;
    if (!advised.known() && record.origin == trace::Origin::program)
        advised = ids::StackId::of(record);
}

void ManagedActivity::add(const trace::Residency& record) {
    ManagedAllocation* const allocation = ranges_.find_live(record.allocation);
    if (allocation == nullptr || record.pages == 0 || record.offset != 0)
        return;
    // A part of a large allocation stands for all of it.
    const double share =
        std::min(1.0, static_cast<double>(record.host_pages) / static_cast<double>(record.pages));
    const std::uint64_t on_host = reader::saturated(share * static_cast<double>(allocation->bytes()));
    if (totals_.records(trace::ManagedEventKind::host_fault))
        arrivals_.look(*allocation, on_host, record.start);
    ledger_.look(allocation->number, share, record.start);
    if (on_host != 0)
        allocation->on_device = {};
    allocation->stays.add({.time = record.start,
                           .kind = record.moment == trace::SampleMoment::after_synchronize
                                       ? UseKind::look_after_wait
                                       : UseKind::look_before_launch,
                           .faults_known = totals_.records(trace::ManagedEventKind::host_fault),
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
    // The call returns when it is done, and so is the earlier work of its stream.
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
        waited.queue = queue_of(thread, facts::legacy_stream);
        return wait(waited);
    case trace::SyncKind::stream:
    case trace::SyncKind::stream_query:
        waited.queue = queue_of(thread, record.of_stream());
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
            ledger_.wait(allocation->number, waited.end);
        }
        return !allocation->launched_on;
    });
    for (ManagedAllocation* const allocation : prefetched_) {
        allocation->prefetched = false;
        if (!allocation->launched_on) {
            allocation->stays.add({.time = waited.end, .kind = UseKind::wait});
            ledger_.wait(allocation->number, waited.end);
        }
    }
    prefetched_.clear();
    if (launched_on_.empty() && !running)
        arrivals_.waited(waited.end);
}

void ManagedActivity::add(const trace::ManagedCounters& record) {
    const trace::ManagedCounters before =
        totals_.exact() != nullptr ? *totals_.exact() : trace::ManagedCounters{};
    shared_.share(before, record, totals_.records(trace::ManagedEventKind::migration), launched_on_);
    const MovedBytes moved{record.bytes_to_device - std::min(record.bytes_to_device, before.bytes_to_device),
                           record.bytes_to_host - std::min(record.bytes_to_host, before.bytes_to_host)};
    arrivals_.moved(moved.to_device, moved.to_host);
    ledger_.totals(moved, record.start);
    totals_read_ = record.start;
    totals_.add(record);
    // What still runs reaches its memory in the next interval, too.
    std::vector<facts::KernelSite> running;
    anywhere_.outstanding(running);
    if (!running.empty()) {
        totals_.use();
        ledger_.use_unknown();
    }
    running.clear();
    for (const ManagedAllocation* const allocation : launched_on_)
        allocation->launches.outstanding(running);
    for (const facts::KernelSite& kernel : running) {
        totals_.use();
        ledger_.run(kernel);
    }
}

void ManagedActivity::finish() {
    arrivals_.finish(totals_read_);
    ledger_.finish();
    ranges_.for_each([this](ManagedAllocation& allocation) {
        judge(allocation);
        allocation.site->take_blocks(allocation);
    });
    if (totals_.exact() == nullptr || totals_.all_recorded() || ledger_.closes())
        return;
    // Where the stays add up to the totals, they are better than a guess at whose memory moved.
    MovedBytes seen;
    for (const auto& [line, site] : sites_)
        seen.add(site.seen);
    const MovedBytes whole = totals_.moved();
    if (!alike(seen.to_device, whole.to_device) || !alike(seen.to_host, whole.to_host)) {
        for (auto& [line, site] : sites_)
            ledger_.take_back(site.limit_least_shares());
        return;
    }
    for (auto& [line, site] : sites_)
        site.shares.all = {scaled(site.seen.to_device, seen.to_device, whole.to_device),
                           scaled(site.seen.to_host, seen.to_host, whole.to_host)};
    ledger_ = MoveLedger(); // its shares are not used
}

} // namespace umadvisor::managed
