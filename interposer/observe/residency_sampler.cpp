#include "interposer/observe/residency_sampler.hpp"

#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"
#include "residency/prices.hpp"

#include <algorithm>
#include <iterator>
#include <sys/resource.h>

namespace umadvisor::observe {

namespace {

using residency::decision_prices;

constexpr std::uint64_t lasting = 10'000'000; ///< nanoseconds for which a look holds while nothing synchronises
constexpr std::uint64_t granule = 64 * 1024;  ///< the driver's, for host faults
constexpr std::uint64_t whole_limit = 64u << 20; ///< entry by entry, more than this is sampled by windows
constexpr std::uint64_t windows = 64;
constexpr unsigned most_early_checks = 32; ///< of PAGEMAP_SCAN; 10 us each

/// Page faults of all threads (getrusage(2)), which include host touches of memory on the device. Takes 0.9 us.
std::uint64_t page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

std::uint64_t key_of(const Allocation& allocation, trace::SampleMoment moment) {
    return allocation.id * 4 + static_cast<std::uint64_t>(moment);
}

constexpr unsigned round_bits = 24;

/// Allocation and round in one word, so that they are read together.
std::uint64_t prefetched_in(const Allocation& allocation, std::uint64_t round) {
    return allocation.id << round_bits | (round & ((1U << round_bits) - 1));
}

} // namespace

/// Collects one sample.
struct ResidencySampler::Seen {
    const Allocation& allocation;
    LookVisit visit;
    std::uint64_t pages = 0, host_pages = 0;
    MappedRuns runs{};

    void at(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) {
        if (visit != nullptr)
            visit(allocation, {first, last}, false);
        const std::uint64_t reached = pagemap.visit_present(
            first, last,
            [](void* to, std::uint64_t from, std::uint64_t until) {
                Seen& seen = *static_cast<Seen*>(to);
                seen.host_pages += (until - from) / recorded_page;
                seen.runs.add(from, until);
                // Its first page and its last may be another allocation's, too.
                const std::uint64_t own = seen.allocation.address;
                if (seen.visit != nullptr)
                    seen.visit(seen.allocation,
                               {std::max(from, own), std::min(until, own + seen.allocation.bytes)}, true);
            },
            this);
        pages += (reached - first) / recorded_page;
    }
};

ResidencySampler& residency_sampler() noexcept {
    static constinit ResidencySampler sampler;
    return sampler;
}

bool ResidencySampler::works() const noexcept {
    return !off_.load(std::memory_order_relaxed) &&
           runtime::options().managed_witness != runtime::ManagedWitness::none;
}

bool ResidencySampler::actions_look() const noexcept {
    return runtime::options().acts() || left_.load(std::memory_order_relaxed);
}

bool ResidencySampler::alone() const noexcept {
    return works() && !managed_watch().watches();
}

bool ResidencySampler::affordable(std::uint64_t now) noexcept {
    return spent_ < budget_.by(now);
}

/// Whether half of the allowance is spent: steady allocations are then looked at less often.
bool ResidencySampler::hurried() const noexcept {
    return spent_ > budget_.allowance() / 2;
}

/// Opens the page map if it is not open; null if it shows nothing.
Pagemap* ResidencySampler::ready(std::optional<Pagemap>& pagemap) noexcept {
    if (pagemap)
        return &*pagemap;
    pagemap.emplace();
    if (pagemap->trouble() != nullptr) {
        if (!off_.exchange(true))
            record::note("residency of managed memory is not seen: /proc/self/pagemap: %s", pagemap->trouble());
        pagemap.reset();
        return nullptr;
    }
    if (!scan_agrees_)
        pagemap->forbid_scan();
    return &*pagemap;
}

bool ResidencySampler::steady(const Allocation& allocation, trace::SampleMoment moment) noexcept {
    Steady& last = steady_[key_of(allocation, moment) % max_steady];
    if (last.key != key_of(allocation, moment) || last.skip == 0)
        return false;
    --last.skip;
    return true;
}

void ResidencySampler::remember(const Looks& looks, const Look& look, std::uint64_t pages,
                                std::uint64_t host_pages, std::uint64_t activity) noexcept {
    const trace::SampleMoment moment = looks.occasion.moment;
    const std::uint64_t key = key_of(*look.allocation, moment);
    Steady& last = steady_[key % max_steady];
    const bool same = last.key == key && last.host_pages == host_pages;
    const std::uint32_t interval = same ? std::min<std::uint32_t>(2 * last.interval + 1, 63) : 0;
    last = {key,
            host_pages,
            pages,
            activity,
            record::run_nanoseconds(),
            round_,
            interval,
            interval,
            moment == trace::SampleMoment::after_synchronize && look.brought};
}

/// Avoids looking at all of an allocation again for each part that the program prefetches.
bool ResidencySampler::just_seen(const Allocation& allocation, trace::SampleMoment moment,
                                 std::uint64_t now) const noexcept {
    const std::uint64_t key = key_of(allocation, moment);
    const Steady& last = steady_[key % max_steady];
    return last.key == key && last.round == round_ && now - last.looked < lasting;
}

/// Whether pages have migrated back to the host since the last synchronisation, when the device had them.
bool ResidencySampler::came_back(const Allocation& allocation, std::uint64_t host_pages) const noexcept {
    const std::uint64_t key = key_of(allocation, trace::SampleMoment::after_synchronize);
    const Steady& last = steady_[key % max_steady];
    return last.key == key && (host_pages > last.host_pages || (last.brought && host_pages != 0));
}

/// Whether a launch has reached it before, so that it may have been on the device.
bool ResidencySampler::launched(const Allocation& allocation) const noexcept {
    const std::uint64_t key = key_of(allocation, trace::SampleMoment::after_synchronize);
    return steady_[key % max_steady].key == key;
}

void ResidencySampler::note_prefetched(const Allocation& allocation) noexcept {
    prefetched_[allocation.id % max_prefetched].store(
        prefetched_in(allocation, round_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

bool ResidencySampler::was_prefetched(const Allocation& allocation) const noexcept {
    return prefetched_[allocation.id % max_prefetched].load(std::memory_order_relaxed) >> round_bits ==
           allocation.id;
}

/// Whether a prefetch to a device, which no synchronisation has waited for yet, may be moving it.
bool ResidencySampler::may_be_moving(const Allocation& allocation) const noexcept {
    return prefetched_[allocation.id % max_prefetched].load(std::memory_order_relaxed) ==
           prefetched_in(allocation, round_.load(std::memory_order_relaxed));
}

/// Repeats the last sample without a look if the driver says that nothing has moved since.
bool ResidencySampler::repeat(const Looks& looks, const Allocation& allocation,
                              std::uint64_t activity) noexcept {
    const trace::SampleMoment moment = looks.occasion.moment;
    const Steady& last = steady_[key_of(allocation, moment) % max_steady];
    if (activity == 0 || last.activity != activity || last.key != key_of(allocation, moment) ||
        looks.visit != nullptr)
        return false;
    if (moment == trace::SampleMoment::before_launch)
        return true; // the sample after the last synchronisation says the same
    trace::Residency record;
    record.allocation = trace::AllocationId{allocation.id};
    record.moment = moment;
    record.start = record::now();
    record.pages = last.pages;
    record.host_pages = last.host_pages;
    record::write(record);
    return true;
}

/// Compares PAGEMAP_SCAN with the entries: it leaves out some kinds of mappings, and it depends on the driver
/// of which kind its mappings are.
void ResidencySampler::check_scan(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) noexcept {
    const auto mapped = [&] {
        std::uint64_t bytes = 0;
        pagemap.visit_present(
            first, last,
            [](void* to, std::uint64_t from, std::uint64_t until) {
                *static_cast<std::uint64_t*>(to) += until - from;
            },
            &bytes);
        return bytes;
    };
    const std::uint64_t by_scan = mapped();
    pagemap.forbid_scan();
    const std::uint64_t by_entries = mapped();
    if (by_entries == 0)
        return; // nothing is mapped to compare: this sample reads entries, and the next one compares again
    checked_ = true;
    scan_agrees_ = by_scan == by_entries;
    if (scan_agrees_)
        pagemap.allow_scan();
}

/// Compares on one page of an allocation that the host has initialised, at the first launch that reaches it.
void ResidencySampler::agree_on_scan(const Allocation& allocation) noexcept {
    ++early_checks_;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    const std::uint64_t page = Pagemap::page_bytes();
    const std::uint64_t first = allocation.address & ~(page - 1);
    if (Pagemap* const usable = ready(pagemap); usable != nullptr && usable->scans())
        check_scan(*usable, first, first + page);
}

/// Reads the content of memory that a launch or a prefetch is about to use.
void ResidencySampler::read_content(trace::Residency& record, const MappedRuns& runs, const Looks& looks,
                                    Look& look) noexcept {
    if (!looks.content)
        return;
    const Allocation& allocation = *look.allocation;
    const bool launch = record.moment == trace::SampleMoment::before_launch;
    if (launch && may_be_moving(allocation))
        return;
    if (launch && came_back(allocation, record.host_pages)) {
        // The content shows whether memory that both sides use is written. Faults do not show that, since `a[i]
        // += 1` begins with a read. Without another source of faults, the lines show how much of it is written.
        const HostContent::Seen seen = content_.look(runs, allocation, alone());
        record.content = seen.hash;
        record.lone_line = seen.lone_line;
        look.came_back = true;
        look.content = seen.hash;
    } else if ((launch || record.moment == trace::SampleMoment::before_prefetch) && record.host_pages != 0 &&
               record.host_pages == record.pages && !launched(allocation) && !was_prefetched(allocation)) {
        record.regularity = content_.regularity(runs, allocation);
    }
}

/// False if pagemap cannot be used. Adds what the model says that it takes.
bool ResidencySampler::sample(std::optional<Pagemap>& opened, const Looks& looks, Look& look,
                              std::uint64_t& modelled) noexcept {
    const Allocation& allocation = *look.allocation;
    const std::uint64_t activity =
        managed_watch().activity(); // read before the look, so that what moves during it counts as later
    if (repeat(looks, allocation, activity))
        return true;
    Pagemap* const usable = ready(opened);
    if (usable == nullptr)
        return false;
    Pagemap& pagemap = *usable;
    const std::uint64_t page = Pagemap::page_bytes();
    const std::uint64_t first = look.range.first & ~(page - 1);
    const std::uint64_t last = (look.range.last + page - 1) & ~(page - 1);
    modelled += modelled_look + (last - first) / residency::block_bytes * decision_prices.look_block;
    trace::Residency record;
    record.offset = first - (allocation.address & ~(page - 1));
    record.allocation = trace::AllocationId{allocation.id};
    record.moment = looks.occasion.moment;
    record.start = record::now();
    if (pagemap.scans() && !checked_)
        check_scan(pagemap, first, std::min(last, first + granule));
    Seen seen{allocation, looks.visit};
    if (pagemap.scans() || last - first <= whole_limit) {
        seen.at(pagemap, first, last);
    } else {
        const std::uint64_t step = (last - first) / windows & ~(granule - 1);
        for (std::uint64_t i = 0; i < windows; ++i)
            seen.at(pagemap, first + i * step, first + i * step + granule);
    }
    record.pages = seen.pages;
    record.host_pages = seen.host_pages;
    read_content(record, seen.runs, looks, look);
    record.duration = record::now() - record.start;
    if (seen.pages == 0)
        return true;
    if (last - first >= allocation.bytes) // a sample of a part does not stand for all
        remember(looks, look, seen.pages, seen.host_pages, activity);
    record::write(record);
    record::charge(record.duration);
    return true;
}

void ResidencySampler::make(Looks& looks) noexcept {
    if (std::all_of(looks.begin(), looks.end(), [](const Look& look) { return look.range.empty(); }))
        return;
    const record::Quiet quiet;
    const Work work;
    std::uint64_t modelled = 0;
    std::optional<Pagemap> pagemap;
    for (Look& look : looks)
        if (!look.range.empty() && !sample(pagemap, looks, look, modelled))
            break;
    spent_ += work.took(modelled);
}

/// Chooses what this launch reaches for the first time since the last synchronisation, or after a long while.
bool ResidencySampler::choose_before_launch(const Touched& touched, Looks& looks, bool acting) noexcept {
    if (!works())
        return false;
    const std::uint64_t now = record::run_nanoseconds();
    const bool may_look = affordable(now);
    looks.occasion = {trace::SampleMoment::before_launch, 0};
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const Allocation& allocation = touched.managed[i];
        std::uint32_t waiting = waiting_.load(std::memory_order_relaxed), at = 0;
        while (at < waiting && pending_[at].allocation.id != allocation.id)
            ++at;
        const bool known = at < waiting;
        if (known && now - pending_[at].looked < lasting)
            continue;
        if (!known && waiting < max_pending)
            waiting_.store(++waiting, std::memory_order_relaxed);
        if (at < waiting)
            pending_[at] = {allocation, now};
        if (!may_look || (!acting && hurried() && steady(allocation, trace::SampleMoment::before_launch)))
            continue;
        if (acting && looks.occasion.host_faults == 0)
            looks.occasion.host_faults = page_faults();
        if (acting && !checked_ && early_checks_ < most_early_checks)
            agree_on_scan(allocation);
        looks.add(allocation, acting ? LookRange{} : LookRange::of(allocation));
    }
    return looks.count != 0;
}

bool ResidencySampler::choose_after_synchronize(Looks& looks, bool acting) noexcept {
    const std::uint64_t now = record::run_nanoseconds();
    const std::uint32_t waiting = waiting_.exchange(0, std::memory_order_relaxed);
    looked_at_all_.store(0, std::memory_order_relaxed);
    looked_alone_.store(false, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_relaxed);
    if (off_.load(std::memory_order_relaxed) || !affordable(now))
        return false;
    looks.occasion = {trace::SampleMoment::after_synchronize, 0};
    for (std::uint32_t i = 0; i < waiting; ++i) {
        const Allocation& allocation = pending_[i].allocation;
        Allocation live;
        if (!allocations().find(allocation.address, live) || live.id != allocation.id)
            continue; // freed since, and another allocation may have its address
        if (!hurried() || !steady(allocation, trace::SampleMoment::after_synchronize))
            looks.add(allocation, acting ? LookRange{} : LookRange::of(allocation));
    }
    return looks.count != 0;
}

bool ResidencySampler::list_all(Touched& all) noexcept {
    const std::uint64_t now = record::run_nanoseconds();
    const std::uint64_t last = looked_at_all_.load(std::memory_order_relaxed);
    if (!works() || (last != 0 && now - last < lasting))
        return false;
    looked_at_all_.store(now, std::memory_order_relaxed);
    allocations().for_each_managed([&](const Allocation& allocation) {
        if (all.managed_count < Touched::max_managed)
            all.managed[all.managed_count++] = allocation;
    });
    return true;
}

void ResidencySampler::look_before_launch(const Touched& touched) noexcept {
    if (actions_look())
        return;
    const Turn turn(*this);
    const record::OffStack<Looks> looks;
    if (turn && choose_before_launch(touched, *looks, false))
        make(*looks);
}

void ResidencySampler::look_at_all() noexcept {
    const record::OffStack<Touched> all;
    if (list_all(*all))
        look_before_launch(*all);
}

void ResidencySampler::look_after_synchronize() noexcept {
    if (actions_look())
        return;
    const Turn turn(*this);
    const record::OffStack<Looks> looks;
    if (turn && choose_after_synchronize(*looks, false))
        make(*looks);
}

void ResidencySampler::look_alone(const Allocation& allocation, trace::SampleMoment moment) noexcept {
    if (!works() || actions_look())
        return; // actions look before launches
    const Turn turn(*this);
    if (!turn)
        return;
    // No other source has the content that the host initialised.
    if (!alone() && (moment != trace::SampleMoment::before_prefetch || launched(allocation)))
        return;
    const std::uint64_t now = record::run_nanoseconds();
    if (!affordable(now) || just_seen(allocation, moment, now) || (hurried() && steady(allocation, moment)))
        return;
    looked_alone_.store(true, std::memory_order_relaxed);
    const record::OffStack<Looks> looks;
    looks->occasion = {moment, 0};
    looks->add(allocation, LookRange::of(allocation));
    make(*looks);
}

} // namespace umadvisor::observe
