#include "analyzer/managed/move_ledger.hpp"

#include "analyzer/managed/move_shares.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace umadvisor::managed {
namespace {

using ledger::block_bytes, ledger::page_bytes;
using ledger::Entry, ledger::Memory, ledger::Part, ledger::Parts;

constexpr std::size_t most_kernels = 32; ///< of one interval

/// The end of the unit that `value` lies in; itself where that is no number.
std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
    const std::uint64_t rest = value % unit;
    return rest == 0 || value > UINT64_MAX - unit ? value : value - rest + unit;
}

} // namespace

struct MoveLedger::Book {
    struct Interval {
        std::uint64_t end = UINT64_MAX; ///< ticks
        MovedBytes moved;
        std::map<std::uint64_t, Entry> entries; ///< by number of the memory
        std::vector<facts::KernelSite> kernels; ///< that reach managed memory; a few
        bool unknown_used = false;              ///< memory that is not known is used, too
    };

    ledger::Memories memories;
    std::map<std::uint64_t, std::uint64_t> by_address; ///< of live ones: number
    std::set<std::uint64_t> running; ///< reached, or prefetched to the host, and not waited for
    std::deque<Interval> open{1};
    std::uint64_t settled = 0; ///< ticks: what is not later has been shared
    bool any_settled = false;
    std::size_t entries = 0;
    std::uint64_t memories_ever = 0;
    ledger::Sum to_device, to_host;

    void keep_apart(std::uint64_t number);
    void leave_address(std::uint64_t number);
    void erase(std::uint64_t number);
    Entry* find(std::uint64_t memory, std::uint64_t time);
    Entry* use(std::uint64_t memory, std::uint64_t time);
    const ManagedSiteActivity* only_used(const Interval& interval) const;
    void settle_front();
    void apply_looks(const Interval& interval);
    Parts parts_of(const Interval& interval, const Interval* next);
    void enter(std::uint64_t number, const Part& part, const ManagedSiteActivity* only,
               const Interval& interval);
};

MoveLedger::MoveLedger() : book_(std::make_unique<Book>()) {}
MoveLedger::~MoveLedger() = default;
MoveLedger::MoveLedger(MoveLedger&&) noexcept = default;
MoveLedger& MoveLedger::operator=(MoveLedger&&) noexcept = default;

std::uint64_t MoveLedger::open(std::uint64_t address, std::uint64_t bytes, ManagedSiteActivity& site) {
    const std::uint64_t number = ++book_->memories_ever;
    Memory& memory = book_->memories[number];
    memory.site = &site;
    memory.address = address;
    memory.first = address / page_bytes * page_bytes;
    memory.end = up(reader::saturated_sum(address, bytes), page_bytes);
    memory.pages = static_cast<double>(memory.end - memory.first);
    memory.granule_rest = static_cast<double>(up(memory.end, granule) - memory.end);
    memory.block_rest = static_cast<double>(up(memory.end, block_bytes) - memory.end);
    reader::add_saturated(site.held, memory.end - memory.first);
    book_->keep_apart(number);
    return number;
}

/// What lies behind memory ends where other memory begins.
void MoveLedger::Book::keep_apart(std::uint64_t number) {
    Memory& memory = memories.at(number);
    const auto limit = [](Memory& before, const Memory& behind) {
        const double most = behind.first > before.end ? static_cast<double>(behind.first - before.end) : 0;
        before.granule_rest = std::min(before.granule_rest, most);
        before.block_rest = std::min(before.block_rest, most);
    };
    const auto here = by_address.insert_or_assign(memory.address, number).first;
    if (here != by_address.begin())
        limit(memories.at(std::prev(here)->second), memory);
    if (std::next(here) != by_address.end())
        limit(memory, memories.at(std::next(here)->second));
}

void MoveLedger::Book::leave_address(std::uint64_t number) {
    const auto at = by_address.find(memories.at(number).address);
    if (at != by_address.end() && at->second == number)
        by_address.erase(at);
}

/// Returns nullptr if the interval has been shared already or the memory was freed.
ledger::Entry* MoveLedger::Book::find(std::uint64_t memory, std::uint64_t time) {
    if ((any_settled && time <= settled) || !memories.contains(memory))
        return nullptr;
    auto interval = std::ranges::lower_bound(open, time, {}, &Interval::end); // the last has no end
    const auto [found, fresh] = interval->entries.try_emplace(memory);
    entries += fresh;
    return &found->second;
}

void MoveLedger::close(std::uint64_t memory, std::uint64_t time) {
    if (!book_->memories.contains(memory))
        return;
    book_->leave_address(memory);
    if (Entry* const entry = book_->find(memory, time))
        entry->closed = true;
    else
        book_->erase(memory);
}

/// As find(); marks the memory as used in that interval.
ledger::Entry* MoveLedger::Book::use(std::uint64_t memory, std::uint64_t time) {
    Entry* const entry = find(memory, time);
    if (entry != nullptr)
        entry->used = true;
    return entry;
}

void MoveLedger::reach(std::uint64_t memory, std::uint64_t time) {
    if (Entry* const entry = book_->use(memory, time)) {
        entry->reached = true;
        entry->waited = false;
    }
}

void MoveLedger::touch(std::uint64_t memory, std::uint64_t time) {
    if (Entry* const entry = book_->use(memory, time))
        entry->touched = true;
}

void MoveLedger::prefetch_to_host(std::uint64_t memory, std::uint64_t bytes, std::uint64_t time) {
    if (Entry* const entry = book_->use(memory, time)) {
        reader::add_saturated(entry->to_host, bytes);
        entry->waited = false;
    }
}

void MoveLedger::wait(std::uint64_t memory, std::uint64_t time) {
    if (Entry* const entry = book_->find(memory, time))
        entry->waited = true;
}

void MoveLedger::event(std::uint64_t memory, std::uint64_t host_faults, const MovedBytes& moved,
                       std::uint64_t time) {
    if (Entry* const entry = book_->use(memory, time)) {
        reader::add_saturated(entry->host_faults, host_faults);
        entry->recorded.add(moved);
    }
}

void MoveLedger::look(std::uint64_t memory, double share, std::uint64_t time) {
    if (Entry* const entry = book_->find(memory, time); entry != nullptr && !entry->host_share)
        entry->host_share = share;
}

void MoveLedger::run(const facts::KernelSite& kernel) {
    std::vector<facts::KernelSite>& kernels = book_->open.back().kernels;
    if (kernels.size() < most_kernels && std::ranges::find(kernels, kernel) == kernels.end())
        kernels.push_back(kernel);
}

void MoveLedger::use_unknown() {
    book_->open.back().unknown_used = true;
}

void MoveLedger::totals(const MovedBytes& moved, std::uint64_t time) {
    book_->open.back().end = time;
    book_->open.back().moved = moved;
    book_->open.emplace_back();
    while (book_->open.size() > 2 && (book_->open.size() > most_open || book_->entries > most_entries))
        book_->settle_front();
}

void MoveLedger::finish() {
    while (!book_->open.empty())
        book_->settle_front();
}

/// What was seen when the interval began.
void MoveLedger::Book::apply_looks(const Interval& interval) {
    for (const auto& [number, entry] : interval.entries) {
        const auto found = memories.find(number);
        if (found == memories.end())
            continue;
        Memory& memory = found->second;
        memory.before_look = memory.host;
        if (entry.host_share)
            memory.host = *entry.host_share * memory.pages;
        memory.looked = memory.looked || entry.host_share.has_value();
    }
}

ledger::Parts MoveLedger::Book::parts_of(const Interval& interval, const Interval* next) {
    Parts parts;
    for (const std::uint64_t number : running) { // what has all of it where it is wanted has no part
        const Memory& memory = memories.at(number);
        if (memory.host > 0 || memory.before_look > 0 || memory.to_host > 0)
            parts[number];
    }
    for (const auto& [number, entry] : interval.entries)
        if (memories.contains(number))
            parts[number].entry = entry;
    for (auto& [number, part] : parts) {
        Memory& memory = memories.at(number);
        memory.reached = memory.reached || part.entry.reached;
        memory.to_host += static_cast<double>(part.entry.to_host);
        part.to_device.all = static_cast<double>(part.entry.recorded.to_device);
        part.to_host.all = static_cast<double>(part.entry.recorded.to_host);
        if (next == nullptr)
            continue;
        const auto later = next->entries.find(number);
        if (later != next->entries.end() && later->second.host_share)
            part.host_after = *later->second.host_share * memory.pages;
    }
    return parts;
}

/// Returns the line if the interval used memory of one line only; nullptr if it used none, or maybe that of
/// several.
const ManagedSiteActivity* MoveLedger::Book::only_used(const Interval& interval) const {
    if (interval.unknown_used)
        return nullptr;
    const ManagedSiteActivity* only = nullptr;
    for (const std::uint64_t number : running) {
        const ManagedSiteActivity* const site = memories.at(number).site;
        if (only != nullptr && only != site)
            return nullptr;
        only = site;
    }
    for (const auto& [number, entry] : interval.entries) {
        const auto found = memories.find(number);
        if (!entry.used || found == memories.end())
            continue;
        if (only != nullptr && only != found->second.site)
            return nullptr;
        only = found->second.site;
    }
    return only;
}

void MoveLedger::Book::enter(std::uint64_t number, const Part& part, const ManagedSiteActivity* only,
                             const Interval& interval) {
    Memory& memory = memories.at(number);
    const auto bytes = [](double value) { return reader::saturated(value + 0.5); };
    const MovedBytes all{bytes(part.to_device.all), bytes(part.to_host.all)};
    const MovedBytes least{bytes(part.to_device.all - part.to_device.guessed),
                           bytes(part.to_host.all - part.to_host.guessed)};
    memory.site->shares.all.add(all);
    memory.site->shares.least.add(least);
    if (memory.site == only) {
        const MovedBytes& recorded = part.entry.recorded;
        const MovedBytes alone{least.to_device - std::min(recorded.to_device, least.to_device),
                               least.to_host - std::min(recorded.to_host, least.to_host)};
        memory.site->shares.alone.add(alone);
        if (alone.to_device != 0)
            memory.site->kernels.add(interval.kernels, static_cast<double>(alone.to_device), 0);
    }
    // The host may have made all of what it faulted on before a device had it.
    if (!memory.was_there && (part.entry.host_faults != 0 || part.entry.touched))
        memory.host = memory.pages;
    const double gone = memory.site->read_mostly ? 0 : part.to_device.all;
    memory.host = std::clamp(memory.host + part.to_host.all - gone, 0.0, memory.pages);
    memory.before_look = memory.host;
    memory.looked = memory.looked && part.entry.host_faults == 0 && !part.entry.touched;
    memory.was_there = memory.was_there || memory.reached || part.to_device.all > 0;
    if (part.entry.waited) {
        memory.reached = false;
        memory.to_host = 0;
    }
    if (memory.reached || memory.to_host > 0)
        running.insert(number);
    else
        running.erase(number);
    if (part.entry.closed)
        erase(number);
}

void MoveLedger::Book::erase(std::uint64_t number) {
    running.erase(number);
    memories.erase(number);
}

void MoveLedger::Book::settle_front() {
    const Interval& interval = open.front();
    apply_looks(interval);
    const ManagedSiteActivity* const only = only_used(interval);
    Parts parts = parts_of(interval, open.size() > 1 ? &open[1] : nullptr);
    const ledger::ToShare to_share{memories, parts, interval.moved, only};
    ledger::share_to_host(to_share, to_host);
    ledger::share_to_device(to_share, to_device);
    for (const auto& [number, part] : parts)
        enter(number, part, only, interval);
    settled = interval.end;
    any_settled = true;
    entries -= interval.entries.size();
    open.pop_front();
}

void MoveLedger::take_back(const MovedBytes& moved) {
    book_->to_device.may_be_others += static_cast<double>(moved.to_device);
    book_->to_host.may_be_others += static_cast<double>(moved.to_host);
}

MovedBytes MoveLedger::unassigned() const {
    return {reader::saturated(book_->to_device.unassigned), reader::saturated(book_->to_host.unassigned)};
}

MovedBytes MoveLedger::guessed() const {
    return {reader::saturated(book_->to_device.may_be_others), reader::saturated(book_->to_host.may_be_others)};
}

bool MoveLedger::closes() const {
    return book_->to_device.closes() && book_->to_host.closes();
}

} // namespace umadvisor::managed
