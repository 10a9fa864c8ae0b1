/// Items that go up, are worked on and come down one after another, each waited for, though none needs another.
#include "analyzer/facts/at_once.hpp"
#include "analyzer/facts/call_time.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/copies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_waits = 20; ///< fewer are no loop
constexpr double least_group = 8;         ///< items: fewer may be sets of buffers that are used in turn
/// Of uploads, an item: the host could make less than that out of a result while it does nothing to be seen.
constexpr double least_item_bytes = 4096;
constexpr double least_share = 0.01; ///< of the run: a smaller one is not worth a change

struct Spared {
    std::uint64_t count = 0, bytes = 0;
};

/// Groups of items. `count` and `ticks` are of the waits that one wait for each group spares.
struct ItemTally {
    std::uint64_t count = 0, ticks = 0, all = 0;
    std::uint64_t groups = 0, bytes_up = 0, gap_ticks = 0;
    /// Calls of groups whose items adjoin on both sides, beyond those of one item for each group.
    std::map<ids::CallSite, Spared> copies;
    std::uint64_t joined = 0; ///< of `count`, in such groups
    facts::CallTime launch_time;

    ItemTally& operator+=(const ItemTally& other) {
        count += other.count;
        ticks += other.ticks;
        all += other.all;
        groups += other.groups;
        bytes_up += other.bytes_up;
        gap_ticks += other.gap_ticks;
        joined += other.joined;
        launch_time += other.launch_time;
        for (const auto& [site, spared] : other.copies) {
            copies[site].count += spared.count;
            copies[site].bytes += spared.bytes;
        }
        return *this;
    }
};

/// An item is what a thread queues between two waits: asynchronous copies and kernels in one stream, one copy
/// each way at least, and nothing that the host can see but what the copies bring into page-locked memory.
/// Items form a group while they come from the same calls and no item's host memory is that of another of the
/// group: none is made of another's result, nor written over before it was read. Memory: one tally a call site,
/// and for each thread the host ranges of up to `most_items` items.
struct ItemWaits : LineRule<ItemWaits, ItemTally> {
    static constexpr bool wants_nodes = true; ///< they end a group

    explicit ItemWaits(const Begin& begin) : live_(begin.live) {}

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const Launched& launched);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Set& record, std::uint32_t thread) {
        if (record.captured != 0 || record.memory != trace::Memory::device)
            threads_[thread].item.odd = true;
    }
    void add(const trace::Alloc&, std::uint32_t thread) { interrupt(threads_[thread]); }
    void add(const trace::Free&, std::uint32_t thread) { interrupt(threads_[thread]); }
    void add(const trace::GraphLaunch&, std::uint32_t thread) { threads_[thread].item.odd = true; }
    void add(const trace::HostFunction&, std::uint32_t thread) { threads_[thread].item.odd = true; }
    void add(const trace::Prefetch&, std::uint32_t thread) { threads_[thread].item.odd = true; }
    void add(const trace::Event& record, std::uint32_t thread) {
        if (record.action == trace::EventAction::record && threads_[thread].item.steps.empty())
            threads_[thread].item.odd = true; // it may measure what comes now
    }
    void add(const trace::Content& record, std::uint32_t thread) {
        threads_[thread].looked += record.content.look_duration;
    }
    void add(const trace::Pause&) { threads_.clear(); }
    void finish() override {
        threads_.for_each([this](Thread& thread) { close(thread); });
    }

    std::optional<Finding> judge(const Line<ItemTally>& line) const;

private:
    static constexpr std::size_t most_steps = 16, most_items = 4096;

    struct Step {
        ids::CallSite site;
        std::uint64_t host = 0, device = 0, bytes = 0; ///< of a copy between both
        bool up = false, launch = false;
    };
    struct Item {
        std::vector<Step> steps;
        trace::StreamId stream{};
        std::uint64_t gap_ticks = 0;
        facts::CallTime launch_time;
        bool odd = false;
    };
    struct Group {
        std::vector<Step> last; ///< of its last item
        trace::StreamId stream{};
        std::uint64_t items = 0, ticks = 0, gap_ticks = 0, bytes_up = 0;
        ids::CallSite wait;
        std::map<std::uint64_t, std::uint64_t> ranges; ///< of host memory: where they begin and end
        facts::CallTime launch_time;
        bool adjoins = true;
    };
    struct Thread {
        Item item;
        Group group;
        std::uint64_t end = 0, looked = 0; ///< of its last wait, and ticks of looks at content since
    };

    void step(Thread& thread, const Step& step, trace::StreamId stream, std::uint64_t start);
    static bool is_item(const Item& item);
    static bool continues(const Group& group, const Item& item, const ids::CallSite& wait);
    static bool adjoins(const std::vector<Step>& before, const std::vector<Step>& now);
    void close(Thread& thread);
    /// By what is no part of an item.
    void interrupt(Thread& thread) {
        if (thread.item.steps.empty())
            close(thread);
        else
            thread.item.odd = true;
    }

    const facts::LiveMemory& live_;
    facts::PerThread<Thread> threads_;
};

void ItemWaits::step(Thread& thread, const Step& step, trace::StreamId stream, std::uint64_t start) {
    Item& item = thread.item;
    if (item.odd)
        return;
    if (item.steps.empty()) {
        item.stream = stream;
        const std::uint64_t from = thread.end + std::exchange(thread.looked, 0);
        item.gap_ticks = start > from ? start - from : 0;
    }
    item.odd = item.stream != stream || item.steps.size() == most_steps;
    item.steps.push_back(step);
}

void ItemWaits::add(const trace::Copy& record, std::uint32_t thread) {
    if (record.origin != trace::Origin::program || record.status != 0)
        return;
    Thread& at = threads_[thread];
    const bool up =
        facts::is_host_memory(record.source_memory) && facts::is_device_memory(record.destination_memory);
    const bool down =
        facts::is_page_locked(record.destination_memory) && facts::is_device_memory(record.source_memory);
    const bool inside =
        facts::is_device_memory(record.source_memory) && facts::is_device_memory(record.destination_memory);
    at.item.odd |= !(up || down || inside) || record.asynchronous == 0 || record.batch != 0 ||
                   record.captured != 0 || record.width != 0;
    at.looked += record.content.look_duration;
    const ids::CallSite site = ids::CallSite::of(record);
    step(at,
         inside ? Step{.site = site}
                : Step{.site = site,
                       .host = up ? record.source : record.destination,
                       .device = up ? record.destination : record.source,
                       .bytes = record.bytes,
                       .up = up},
         record.stream, record.start);
}

void ItemWaits::add(const Launched& launched) {
    Thread& at = threads_[launched.thread];
    const reader::Shape* const shape = launched.shape;
    // The host may look at what a kernel does to memory that it can read, when it has waited for it.
    if (shape == nullptr || !shape->scanned || shape->captured || shape->untold != 0 ||
        !std::ranges::all_of(shape->touched, [this](trace::AllocationId allocation) {
            const trace::Alloc* const alloc = live_.find(allocation);
            return alloc == nullptr || alloc->memory == trace::Memory::device;
        }))
        at.item.odd = true;
    if (at.item.odd)
        return;
    step(at, {.site = {shape->stack, shape->entry}, .launch = true}, shape->stream, launched.record.start);
    at.item.launch_time.add(launched.record.duration, launched.record.stands_for);
}

bool ItemWaits::is_item(const Item& item) {
    bool up = false, down = false, launch = false;
    for (const Step& each : item.steps) {
        up |= each.up;
        launch |= each.launch;
        down |= each.bytes != 0 && !each.up;
    }
    return !item.odd && up && down && launch;
}

bool ItemWaits::continues(const Group& group, const Item& item, const ids::CallSite& wait) {
    return group.items != 0 && group.items < most_items && group.wait == wait && group.stream == item.stream &&
           std::ranges::equal(group.last, item.steps, {}, &Step::site, &Step::site) &&
           std::ranges::none_of(item.steps, [&](const Step& each) {
               const auto after = group.ranges.upper_bound(each.host);
               return each.bytes != 0 &&
                      ((after != group.ranges.end() && after->first < each.host + each.bytes) ||
                       (after != group.ranges.begin() && std::prev(after)->second > each.host));
           });
}

bool ItemWaits::adjoins(const std::vector<Step>& before, const std::vector<Step>& now) {
    return std::ranges::equal(before, now, [](const Step& last, const Step& next) {
        return last.bytes == next.bytes && (next.bytes == 0 || (next.host == last.host + last.bytes &&
                                                                next.device == last.device + last.bytes));
    });
}

void ItemWaits::add(const trace::Sync& record, std::uint32_t thread) {
    if (!facts::waits_for_work(record) || record.status != 0)
        return;
    Thread& at = threads_[thread];
    const ids::CallSite wait = ids::CallSite::of(record);
    at.end = record.start + record.duration;
    at.looked = 0;
    const Item item = std::exchange(at.item, {});
    if (item.steps.empty() && !item.odd)
        return;
    Group& group = at.group;
    if (!is_item(item) || !continues(group, item, wait))
        close(at);
    if (!is_item(item))
        return;
    const bool adjoins = group.items != 0 && ItemWaits::adjoins(group.last, item.steps);
    if (group.items >= 2 && group.adjoins && !adjoins)
        close(at); // the items of the next round begin where those of the last did
    if (group.items != 0) {
        group.adjoins &= adjoins;
        group.gap_ticks += item.gap_ticks;
    }
    group.wait = wait;
    group.stream = item.stream;
    group.last = item.steps;
    group.launch_time += item.launch_time;
    group.ticks += record.duration;
    ++group.items;
    for (const Step& each : item.steps)
        if (each.bytes != 0) {
            std::uint64_t& end = group.ranges[each.host];
            end = std::max(end, each.host + each.bytes);
            group.bytes_up += each.up ? each.bytes : 0;
        }
}

void ItemWaits::close(Thread& thread) {
    const Group group = std::exchange(thread.group, {});
    if (group.items == 0)
        return;
    ItemTally& tally = this->at(group.wait);
    tally.all += group.items;
    const std::uint64_t spared = group.items - 1;
    if (spared == 0)
        return;
    ++tally.groups;
    tally.count += spared;
    tally.ticks += group.ticks / group.items * spared;
    tally.gap_ticks += group.gap_ticks;
    tally.bytes_up += group.bytes_up / group.items * spared;
    if (!group.adjoins)
        return;
    tally.joined += spared;
    tally.launch_time += group.launch_time;
    for (const Step& each : group.last)
        if (each.bytes != 0) {
            tally.copies[each.site].count += spared;
            tally.copies[each.site].bytes += spared * each.bytes;
        }
}

std::optional<Finding> ItemWaits::judge(const Line<ItemTally>& line) const {
    const ItemTally& tally = line.tally;
    const auto waits = static_cast<double>(tally.count), groups = static_cast<double>(tally.groups);
    if (tally.count < least_waits || waits < (least_group - 1) * groups ||
        static_cast<double>(tally.bytes_up) < least_item_bytes * waits ||
        line.ns(tally.gap_ticks) > facts::at_once_ns * waits)
        return std::nullopt;
    const Profile& profile = line.profile;
    const double waited_ns = line.ns(tally.ticks);
    const bool joined = 2 * tally.joined > tally.count;
    Finding finding;
    finding.edit = line.calls.gone(profile);
    finding.saving_ns = waited_ns;
    if (joined) {
        std::map<ids::CallSite, tables::Tally> own;
        for (const auto& [site, totals] : profile.copies().sites()) {
            own[{site.stack, site.entry}].add(totals.small);
            own[{site.stack, site.entry}].add(totals.large);
        }
        for (const auto& [site, spared] : tally.copies) {
            const tables::Tally& all = own[site];
            const double bytes_ns = static_cast<double>(spared.bytes) / profile.rates().pinned_to_device * 1e9;
            const double calls_ns =
                all.own_ns * static_cast<double>(spared.count) / std::max(1.0, static_cast<double>(all.count));
            EditedCalls calls;
            calls.add(site, spared.count);
            const timeline::Edit gone = calls.gone(profile, bytes_ns);
            finding.edit.changes.insert(finding.edit.changes.end(), gone.changes.begin(), gone.changes.end());
            finding.saving_ns += std::max(0.0, calls_ns - bytes_ns);
        }
        finding.details.push_back(fmt::format(
            "one launch for each group saves more of the host's time: these launches took {}",
            time_text(line.ns(static_cast<std::uint64_t>(tally.launch_time.total_ticks(tally.launch_time))))));
    }
    if (finding.saving_ns < line.share_of_run(least_share))
        return std::nullopt;
    const double up = static_cast<double>(tally.bytes_up) / waits, items = (waits + groups) / groups;
    finding.summary =
        fmt::format("{} {}: a wait for each item of {}, in groups of {:.0f} on average whose items lie {} on "
                    "the host; {} in the waits that one wait for each group replaces",
                    profile.call_name(line.entry), count_text(tally.all, "time"), bytes_text(up),
                    std::floor(items), joined ? "side by side" : "apart", time_text(waited_ns));
    finding.evidence = {{"waits", static_cast<double>(tally.all)},
                        {"waits_spared", waits},
                        {"groups", groups},
                        {"mean_item_bytes", up},
                        {"waited_ns", waited_ns}};
    finding.advice = joined ? "the items of a group are adjacent: upload all of them with one copy, process "
                              "them in one launch, download the results with one copy, and wait once"
                            : "queue the copies and launches of all items of a group, and wait once, after the "
                              "last; then use their results";
    finding.basis = joined ? "replay of the run with the copies and the wait of one item for each group, minus "
                             "the time that the other items' bytes need"
                           : "replay of the run with one wait for each group";
    // What the host does with a result before it queues the next item is not known.
    finding.confidence = joined ? Confidence::medium : Confidence::low;
    return finding;
}

} // namespace

constinit const Rule uma_508{.id = "UMA-508",
                             .name = "item-waits",
                             .title = "a wait for each item",
                             .find = &ItemWaits::find<uma_508>,
                             .counter = &count<ItemWaits>,
                             .price = Price::rates,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
