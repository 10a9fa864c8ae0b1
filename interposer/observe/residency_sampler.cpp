#include "interposer/observe/residency_sampler.hpp"

#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"

#include <algorithm>
#include <iterator>
#include <sys/resource.h>

namespace umadvisor::observe {

namespace {

constexpr std::uint64_t share = 100;          ///< one part in so many of the run time
constexpr std::uint64_t lasting = 10'000'000; ///< nanoseconds for which a look holds while nothing synchronises
constexpr std::uint64_t granule = 64 * 1024;  ///< the driver's, for host faults
constexpr std::uint64_t whole_limit = 64u << 20; ///< entry by entry, more than this is sampled by windows
constexpr std::uint64_t windows = 64;
constexpr unsigned most_early_checks = 32; ///< of PAGEMAP_SCAN; 10 us each

/// Of all threads, as getrusage(2) counts them: a touch of memory that the device has is one. Takes 0.9 us.
std::uint64_t page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

std::uint64_t key_of(const Allocation& allocation, trace::SampleMoment moment) {
    return allocation.id * 4 + static_cast<std::uint64_t>(moment);
}

constexpr unsigned round_bits = 24;

/// One word, so that neither is seen without the other.
std::uint64_t prefetched_in(const Allocation& allocation, std::uint64_t round) {
    return allocation.id << round_bits | (round & ((1U << round_bits) - 1));
}

} // namespace

/// Collects one sample.
struct ResidencySampler::Look {
    const ResidencySampler& sampler;
    const Allocation& allocation;
    std::uint64_t pages = 0, host_pages = 0;
    MappedRuns runs{};

    void at(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) {
        sampler.tell(&ResidencyListener::looking, allocation, first, last);
        const std::uint64_t reached = pagemap.visit_present(
            first, last,
            [](void* to, std::uint64_t from, std::uint64_t until) {
                Look& look = *static_cast<Look*>(to);
                look.host_pages += (until - from) / recorded_page;
                look.runs.add(from, until);
                // Its first page and its last may be another allocation's, too.
                const std::uint64_t own = look.allocation.address;
                look.sampler.tell(&ResidencyListener::host, look.allocation, std::max(from, own),
                                  std::min(until, own + look.allocation.bytes));
            },
            this);
        pages += (reached - first) / recorded_page;
    }
};

ResidencySampler& residency_sampler() noexcept {
    static constinit ResidencySampler sampler;
    return sampler;
}

void ResidencySampler::add_listener(const ResidencyListener* listener) noexcept {
    for (std::atomic<const ResidencyListener*>& place : listeners_) {
        const ResidencyListener* there = nullptr;
        if (place.compare_exchange_strong(there, listener) || there == listener)
            return;
    }
}

template <class Function, class... Arguments>
void ResidencySampler::tell(Function ResidencyListener::*function, Arguments&&... arguments) const noexcept {
    for (const std::atomic<const ResidencyListener*>& place : listeners_)
        if (const ResidencyListener* const listener = place.load(std::memory_order_acquire);
            listener != nullptr && listener->*function != nullptr)
            (listener->*function)(arguments...);
}

bool ResidencySampler::pages_wanted() const noexcept {
    for (const std::atomic<const ResidencyListener*>& place : listeners_)
        if (const ResidencyListener* const listener = place.load(std::memory_order_acquire);
            listener != nullptr && listener->host != nullptr)
            return true;
    return false;
}

bool ResidencySampler::content_wanted() const noexcept {
    bool wanted = !listened_to();
    for (const std::atomic<const ResidencyListener*>& place : listeners_)
        if (const ResidencyListener* const listener = place.load(std::memory_order_acquire);
            listener != nullptr)
            wanted = wanted || listener->came_back != nullptr;
    return wanted;
}

bool ResidencySampler::was_brought(const Allocation& allocation) const noexcept {
    bool brought = false;
    for (const std::atomic<const ResidencyListener*>& place : listeners_)
        if (const ResidencyListener* const listener = place.load(std::memory_order_acquire);
            listener != nullptr && listener->brought != nullptr)
            brought = brought || listener->brought(allocation);
    return brought;
}

LookRange ResidencySampler::wanted_by_anyone(const Allocation& allocation,
                                             const LookOccasion& occasion) const noexcept {
    LookRange all;
    for (const std::atomic<const ResidencyListener*>& place : listeners_)
        if (const ResidencyListener* const listener = place.load(std::memory_order_acquire);
            listener != nullptr) {
            const LookRange one = listener->curious(allocation, occasion);
            if (!one.empty())
                all =
                    all.empty() ? one : LookRange{std::min(all.first, one.first), std::max(all.last, one.last)};
        }
    return all;
}

bool ResidencySampler::works() const noexcept {
    return !off_.load(std::memory_order_relaxed) &&
           runtime::options().managed_witness != runtime::ManagedWitness::none;
}

/// A program that is repaired is to be fast: it is looked at for those only who act on it.
bool ResidencySampler::is_spared() const noexcept {
    return runtime::options().acts() && !listened_to();
}

bool ResidencySampler::alone() const noexcept {
    return works() && !managed_watch().watches();
}

bool ResidencySampler::affordable(std::uint64_t now) noexcept {
    if (started_ == 0)
        started_ = now;
    return spent_ < allowance_.load(std::memory_order_relaxed) + (now - started_) / share;
}

/// Steady ones are looked at less often: half of the allowance is spent.
bool ResidencySampler::hurried() const noexcept {
    return spent_ > allowance_.load(std::memory_order_relaxed) / 2;
}

/// Opens it at first need; null where it shows nothing.
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

void ResidencySampler::remember(const Allocation& allocation, trace::SampleMoment moment, std::uint64_t pages,
                                std::uint64_t host_pages, std::uint64_t activity) noexcept {
    const std::uint64_t key = key_of(allocation, moment);
    Steady& last = steady_[key % max_steady];
    const bool same = last.key == key && last.host_pages == host_pages;
    const std::uint32_t interval = same ? std::min<std::uint32_t>(2 * last.interval + 1, 63) : 0;
    last = {key,
            host_pages,
            pages,
            activity,
            record::monotonic_nanoseconds(),
            round_,
            interval,
            interval,
            moment == trace::SampleMoment::after_synchronize && was_brought(allocation)};
}

/// Memory may be prefetched part by part, and each look is at all of it.
bool ResidencySampler::just_seen(const Allocation& allocation, trace::SampleMoment moment,
                                 std::uint64_t now) const noexcept {
    const std::uint64_t key = key_of(allocation, moment);
    const Steady& last = steady_[key % max_steady];
    return last.key == key && last.round == round_ && now - last.looked < lasting;
}

/// Since the last synchronisation, where the device had had it.
bool ResidencySampler::came_back(const Allocation& allocation, std::uint64_t host_pages) const noexcept {
    const std::uint64_t key = key_of(allocation, trace::SampleMoment::after_synchronize);
    const Steady& last = steady_[key % max_steady];
    return last.key == key && (host_pages > last.host_pages || (last.brought && host_pages != 0));
}

/// On the device, it may have been since.
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

/// Where the driver says that nothing has moved since the last sample, it would show what that one showed.
bool ResidencySampler::repeat(const Allocation& allocation, trace::SampleMoment moment,
                              std::uint64_t activity) noexcept {
    const Steady& last = steady_[key_of(allocation, moment) % max_steady];
    if (activity == 0 || last.activity != activity || last.key != key_of(allocation, moment) || pages_wanted())
        return false;
    if (moment == trace::SampleMoment::before_launch)
        return true; // the report knows it from the last synchronisation
    trace::Residency record;
    record.allocation = allocation.id;
    record.moment = moment;
    record.start = record::now();
    record.pages = last.pages;
    record.host_pages = last.host_pages;
    record::write(record);
    return true;
}

/// PAGEMAP_SCAN leaves out mappings of kinds that the entries do show; which kind the driver's are is its own
/// affair.
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
        return; // says nothing; this sample goes entry by entry, and the next look asks again
    checked_ = true;
    scan_agrees_ = by_scan == by_entries;
    if (scan_agrees_)
        pagemap.allow_scan();
}

/// The first launch that reaches an allocation finds it as the host has filled it, but is not looked at for it.
void ResidencySampler::agree_on_scan(const Allocation& allocation) noexcept {
    ++early_checks_;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    const std::uint64_t page = Pagemap::page_bytes();
    const std::uint64_t first = allocation.address & ~(page - 1);
    if (Pagemap* const usable = ready(pagemap); usable != nullptr && usable->scans())
        check_scan(*usable, first, first + page);
}

/// Of what the device is about to have.
void ResidencySampler::read_content(trace::Residency& record, const MappedRuns& runs,
                                    const Allocation& allocation) noexcept {
    if (!content_wanted())
        return;
    const bool launch = record.moment == trace::SampleMoment::before_launch;
    if (launch && may_be_moving(allocation))
        return;
    if (launch && came_back(allocation, record.host_pages)) {
        // Whether anybody writes what both sides use in turn: faults do not tell, `a[i] += 1` begins with a
        // read. Where nobody tells of faults, also whether much is written of what comes for it.
        const HostContent::Seen seen = content_.look(runs, allocation, alone());
        record.content = seen.hash;
        record.lone_line = seen.lone_line;
        tell(&ResidencyListener::came_back, allocation, seen.hash);
    } else if ((launch || record.moment == trace::SampleMoment::before_prefetch) && record.host_pages != 0 &&
               record.host_pages == record.pages && !launched(allocation) && !was_prefetched(allocation)) {
        record.regularity = content_.regularity(runs, allocation);
    }
}

/// False: pagemap cannot be used.
bool ResidencySampler::sample(std::optional<Pagemap>& opened, const Target& target,
                              trace::SampleMoment moment) noexcept {
    const Allocation& allocation = *target.allocation;
    const std::uint64_t activity =
        managed_watch().activity(); // before the look: what comes during it counts as later
    if (repeat(allocation, moment, activity))
        return true;
    Pagemap* const usable = ready(opened);
    if (usable == nullptr)
        return false;
    Pagemap& pagemap = *usable;
    const std::uint64_t page = Pagemap::page_bytes();
    const std::uint64_t first = target.range.first & ~(page - 1);
    const std::uint64_t last = (target.range.last + page - 1) & ~(page - 1);
    trace::Residency record;
    record.offset = first - (allocation.address & ~(page - 1));
    record.allocation = allocation.id;
    record.moment = moment;
    record.start = record::now();
    if (pagemap.scans() && !checked_)
        check_scan(pagemap, first, std::min(last, first + granule));
    Look look{*this, allocation};
    if (pagemap.scans() || last - first <= whole_limit) {
        look.at(pagemap, first, last);
    } else {
        const std::uint64_t step = (last - first) / windows & ~(granule - 1);
        for (std::uint64_t i = 0; i < windows; ++i)
            look.at(pagemap, first + i * step, first + i * step + granule);
    }
    record.pages = look.pages;
    record.host_pages = look.host_pages;
    read_content(record, look.runs, allocation);
    record.duration = record::now() - record.start;
    if (look.pages == 0)
        return true;
    if (last - first >= allocation.bytes) // what a part of it shows is not what all of it does
        remember(allocation, moment, look.pages, look.host_pages, activity);
    record::write(record);
    record::charge(record.duration);
    return true;
}

/// Pays for the time since `since`.
void ResidencySampler::sample_all(const Target* targets, std::uint32_t count, trace::SampleMoment moment,
                                  std::uint64_t since) noexcept {
    if (count == 0)
        return;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    for (std::uint32_t i = 0; i < count; ++i)
        if (!sample(pagemap, targets[i], moment))
            break;
    spent_ += record::monotonic_nanoseconds() - since;
}

void ResidencySampler::look_before_launch(const Touched& touched) noexcept {
    if (!works() || is_spared())
        return;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const bool may_look = affordable(now);
    LookOccasion occasion{trace::SampleMoment::before_launch, 0};
    // Whoever listens acts on what it hears, so it hears all that it asks for.
    const auto wanted = [&](const Allocation& allocation) {
        if (!listened_to())
            return hurried() && steady(allocation, trace::SampleMoment::before_launch)
                       ? LookRange{}
                       : LookRange::of(allocation);
        if (occasion.host_faults == 0)
            occasion.host_faults = page_faults();
        if (!checked_ && early_checks_ < most_early_checks)
            agree_on_scan(allocation);
        return wanted_by_anyone(allocation, occasion);
    };
    // What this launch reaches for the first time since the last synchronisation, or after a long while.
    struct Targets {
        Target all[Touched::max_managed];
    };
    const record::OffStack<Targets> targets;
    Target* const fresh = targets->all;
    std::uint32_t count = 0;
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
        if (const LookRange range = may_look ? wanted(allocation) : LookRange{}; !range.empty())
            fresh[count++] = {&allocation, range};
    }
    sample_all(fresh, count, trace::SampleMoment::before_launch, now);
}

void ResidencySampler::look_at_all() noexcept {
    const std::uint64_t now = record::monotonic_nanoseconds();
    const std::uint64_t last = looked_at_all_.load(std::memory_order_relaxed);
    if (!works() || (last != 0 && now - last < lasting))
        return;
    looked_at_all_.store(now, std::memory_order_relaxed);
    const record::OffStack<Touched> all;
    allocations().for_each_managed([&](const Allocation& allocation) {
        if (all->managed_count < Touched::max_managed)
            all->managed[all->managed_count++] = allocation;
    });
    look_before_launch(*all);
}

void ResidencySampler::look_after_synchronize() noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const std::uint32_t waiting = waiting_.exchange(0, std::memory_order_relaxed);
    looked_at_all_.store(0, std::memory_order_relaxed);
    looked_alone_.store(false, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_relaxed);
    if (off_.load(std::memory_order_relaxed) || !affordable(now))
        return;
    const LookOccasion occasion{trace::SampleMoment::after_synchronize, 0};
    struct Targets {
        Target all[max_pending];
    };
    const record::OffStack<Targets> chosen;
    Target* const targets = chosen->all;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < waiting; ++i) {
        const Allocation& allocation = pending_[i].allocation;
        Allocation live;
        if (!allocations().find(allocation.address, live) || live.id != allocation.id)
            continue; // freed since; what is there now is no concern of its sample
        if (hurried() && steady(allocation, trace::SampleMoment::after_synchronize))
            continue;
        const LookRange range =
            listened_to() ? wanted_by_anyone(allocation, occasion) : LookRange::of(allocation);
        if (!range.empty())
            targets[count++] = {&allocation, range};
    }
    sample_all(targets, count, trace::SampleMoment::after_synchronize, now);
}

void ResidencySampler::look_alone(const Allocation& allocation, trace::SampleMoment moment) noexcept {
    if (!works() || is_spared() || listened_to())
        return; // those who listen act before launches
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    // What the host has filled it with is told by nobody else.
    if (!alone() && (moment != trace::SampleMoment::before_prefetch || launched(allocation)))
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    if (!affordable(now) || just_seen(allocation, moment, now) || (hurried() && steady(allocation, moment)))
        return;
    looked_alone_.store(true, std::memory_order_relaxed);
    const Target only{&allocation, LookRange::of(allocation)};
    sample_all(&only, 1, moment, now);
}

} // namespace umadvisor::observe
