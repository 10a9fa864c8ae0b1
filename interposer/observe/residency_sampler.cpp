#include "interposer/observe/residency_sampler.hpp"

#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <iterator>
#include <sys/uio.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace {

constexpr std::uint64_t share = 100;          ///< one part in so many of the run time
constexpr std::uint64_t lasting = 10'000'000; ///< nanoseconds for which a look holds while nothing synchronises
constexpr std::uint64_t granule = 64 * 1024;  ///< the driver's, for host faults
constexpr std::uint64_t whole_limit = 64u << 20; ///< entry by entry, more than this is sampled by windows
constexpr std::uint64_t windows = 64;
constexpr std::uint64_t recorded_page = 4096; ///< FORMAT.md, Residency
constexpr std::uint64_t pages_read = 4;       ///< for the content of a sample

std::uint64_t key_of(const Allocation& allocation, trace::SampleMoment moment) {
    return allocation.id * 4 + static_cast<std::uint64_t>(moment);
}

/// The first 15 runs of pages that the host has mapped, and the last.
class Runs {
public:
    void add(std::uint64_t first, std::uint64_t last) {
        if (count_ == std::size(runs_))
            pages_ -= pages_of(runs_[--count_]);
        runs_[count_++] = {first, last};
        pages_ += pages_of(runs_[count_ - 1]);
    }
    std::uint64_t pages() const { return pages_; }
    /// Address of the nth.
    std::uint64_t page(std::uint64_t n) const {
        const Run* run = runs_;
        for (; n >= pages_of(*run); ++run)
            n -= pages_of(*run);
        return run->first + n * recorded_page;
    }

private:
    struct Run {
        std::uint64_t first, last;
    };
    static std::uint64_t pages_of(const Run& run) { return (run.last - run.first) / recorded_page; }

    Run runs_[16];
    std::size_t count_ = 0;
    std::uint64_t pages_ = 0;
};

/// Of the first page of the host's, of the last and of those that lie evenly between; 0: they cannot be read.
/// Through the kernel, which answers a page that may not be read with an error instead of a signal
/// (process_vm_readv(2)).
std::uint64_t content_of(const Runs& runs, const Allocation& allocation) {
    std::uint8_t held[pages_read * recorded_page];
    iovec places[pages_read];
    std::size_t count = 0, bytes = 0;
    for (std::uint64_t i = 0, before = runs.pages(); i < pages_read; ++i) {
        const std::uint64_t n = i * (runs.pages() - 1) / (pages_read - 1);
        if (n == before)
            continue;
        before = n;
        // A page may be shared with a neighbour, which is another's business.
        const std::uint64_t first = std::max(runs.page(n), allocation.address);
        const std::uint64_t last =
            std::min(runs.page(n) + recorded_page, allocation.address + allocation.bytes);
        if (first >= last) // of a page larger than those recorded
            continue;
        places[count++] = {reinterpret_cast<void*>(first), last - first};
        bytes += last - first;
    }
    const iovec to{held, bytes};
    if (process_vm_readv(getpid(), &to, 1, places, count, 0) != static_cast<ssize_t>(bytes))
        return 0;
    return std::max<std::uint64_t>(trace::checksum(held, bytes), 1);
}

/// Collects one sample.
struct Look {
    const Allocation& allocation;
    const ResidencyListener* listener;
    std::uint64_t pages = 0, host_pages = 0;
    Runs runs{};

    void at(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) {
        if (listener != nullptr)
            listener->looking(allocation, first, last);
        const std::uint64_t reached = pagemap.visit_present(
            first, last,
            [](void* to, std::uint64_t from, std::uint64_t until) {
                Look& look = *static_cast<Look*>(to);
                look.host_pages += (until - from) / recorded_page;
                look.runs.add(from, until);
                if (look.listener != nullptr)
                    look.listener->host(look.allocation, from, until);
            },
            this);
        pages += (reached - first) / recorded_page;
    }
};

} // namespace

ResidencySampler& residency_sampler() noexcept {
    static constinit ResidencySampler sampler;
    return sampler;
}

bool ResidencySampler::works() const noexcept {
    return !off_.load(std::memory_order_relaxed) &&
           runtime::options().managed_witness != runtime::ManagedWitness::none;
}

bool ResidencySampler::alone() const noexcept {
    return works() && !managed_watch().watches();
}

bool ResidencySampler::affordable(std::uint64_t now) noexcept {
    if (started_ == 0)
        started_ = now;
    return spent_ < allowance_.load(std::memory_order_relaxed) + (now - started_) / share;
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
    last = {key, host_pages, pages, activity, record::monotonic_nanoseconds(), round_, interval, interval};
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
    return last.key == key && host_pages > last.host_pages;
}

/// Where the driver says that nothing has moved since the last sample, it would show what that one showed.
bool ResidencySampler::repeat(const Allocation& allocation, trace::SampleMoment moment,
                              std::uint64_t activity) noexcept {
    const Steady& last = steady_[key_of(allocation, moment) % max_steady];
    if (activity == 0 || last.activity != activity || last.key != key_of(allocation, moment) ||
        listener_.load(std::memory_order_relaxed) != nullptr)
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

/// False: pagemap cannot be used.
bool ResidencySampler::sample(std::optional<Pagemap>& opened, const Allocation& allocation,
                              trace::SampleMoment moment) noexcept {
    const std::uint64_t activity =
        managed_watch().activity(); // before the look: what comes during it counts as later
    if (repeat(allocation, moment, activity))
        return true;
    Pagemap* const usable = ready(opened);
    if (usable == nullptr)
        return false;
    Pagemap& pagemap = *usable;
    const std::uint64_t page = Pagemap::page_bytes();
    const std::uint64_t first = allocation.address & ~(page - 1);
    const std::uint64_t last = (allocation.address + allocation.bytes + page - 1) & ~(page - 1);
    trace::Residency record;
    record.allocation = allocation.id;
    record.moment = moment;
    record.start = record::now();
    if (pagemap.scans() && !checked_)
        check_scan(pagemap, first, std::min(last, first + granule));
    Look look{allocation, listener_.load(std::memory_order_acquire)};
    if (pagemap.scans() || last - first <= whole_limit) {
        look.at(pagemap, first, last);
    } else {
        const std::uint64_t step = (last - first) / windows & ~(granule - 1);
        for (std::uint64_t i = 0; i < windows; ++i)
            look.at(pagemap, first + i * step, first + i * step + granule);
    }
    // Whether anybody writes what both sides use in turn: faults do not tell, `a[i] += 1` begins with a read.
    if (moment == trace::SampleMoment::before_launch && came_back(allocation, look.host_pages))
        record.content = content_of(look.runs, allocation);
    record.duration = record::now() - record.start;
    record.pages = look.pages;
    record.host_pages = look.host_pages;
    if (look.pages == 0)
        return true;
    remember(allocation, moment, look.pages, look.host_pages, activity);
    record::write(record);
    record::charge(record.duration);
    return true;
}

void ResidencySampler::look_before_launch(const Touched& touched) noexcept {
    if (!works())
        return;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const bool may_look = affordable(now);
    const bool hurried = spent_ > allowance_.load(std::memory_order_relaxed) / 2;
    // What this launch reaches for the first time since the last synchronisation, or after a long while.
    const Allocation* fresh[Touched::max_managed];
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
        // Whoever listens acts on what it hears, so it hears all that it asks for.
        const ResidencyListener* const listener = listener_.load(std::memory_order_acquire);
        if (may_look &&
            (listener != nullptr ? listener->curious(allocation)
                                 : !hurried || !steady(allocation, trace::SampleMoment::before_launch)))
            fresh[count++] = &allocation;
    }
    if (count == 0)
        return;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    for (std::uint32_t i = 0; i < count; ++i)
        if (!sample(pagemap, *fresh[i], trace::SampleMoment::before_launch))
            break;
    spent_ += record::monotonic_nanoseconds() - now;
}

void ResidencySampler::look_at_all() noexcept {
    const std::uint64_t now = record::monotonic_nanoseconds();
    const std::uint64_t last = looked_at_all_.load(std::memory_order_relaxed);
    if (!works() || (last != 0 && now - last < lasting))
        return;
    looked_at_all_.store(now, std::memory_order_relaxed);
    Touched all;
    allocations().for_each_managed([&](const Allocation& allocation) {
        if (all.managed_count < Touched::max_managed)
            all.managed[all.managed_count++] = allocation;
    });
    look_before_launch(all);
}

void ResidencySampler::look_after_synchronize() noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const bool hurried = spent_ > allowance_.load(std::memory_order_relaxed) / 2;
    const std::uint32_t waiting = waiting_.exchange(0, std::memory_order_relaxed);
    looked_at_all_.store(0, std::memory_order_relaxed);
    ++round_;
    if (off_.load(std::memory_order_relaxed) || !affordable(now))
        return;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    for (std::uint32_t i = 0; i < waiting; ++i) {
        const Allocation& allocation = pending_[i].allocation;
        Allocation live;
        if (!allocations().find(allocation.address, live) || live.id != allocation.id)
            continue; // freed since; what is there now is no concern of its sample
        if (hurried && steady(allocation, trace::SampleMoment::after_synchronize))
            continue;
        if (!sample(pagemap, allocation, trace::SampleMoment::after_synchronize))
            break;
    }
    spent_ += record::monotonic_nanoseconds() - now;
}

void ResidencySampler::look_alone(const Allocation& allocation, trace::SampleMoment moment) noexcept {
    if (!alone())
        return;
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const std::uint64_t now = record::monotonic_nanoseconds();
    const bool hurried = spent_ > allowance_.load(std::memory_order_relaxed) / 2;
    if (!affordable(now) || just_seen(allocation, moment, now) || (hurried && steady(allocation, moment)))
        return;
    const record::Quiet quiet;
    std::optional<Pagemap> pagemap;
    sample(pagemap, allocation, moment);
    spent_ += record::monotonic_nanoseconds() - now;
}

} // namespace umadvisor::observe
