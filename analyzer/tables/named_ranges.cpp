#include "analyzer/tables/named_ranges.hpp"

#include <bit>
#include <iterator>

namespace umadvisor::tables {
namespace {

/// Values whose first six binary digits, and whose length, are the same.
std::uint32_t bucket_of(double ns) {
    const auto value = static_cast<std::uint64_t>(ns);
    const auto length = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = length > 6 ? length - 6 : 0;
    return shift << 6 | static_cast<std::uint32_t>(value >> shift);
}

} // namespace

void RangeTimes::add(const RangeTimes& other) {
    wait_ns += other.wait_ns;
    copy_ns += other.copy_ns;
    call_ns += other.call_ns;
    all_ns += other.all_ns;
    host_faults += other.host_faults;
}

RangeTimes RangeTotals::median() const {
    std::uint64_t before = 0;
    for (const auto& [number, bucket] : buckets) {
        before += bucket.count;
        if (2 * before < count)
            continue;
        const auto each = static_cast<double>(bucket.count);
        return {bucket.sum.wait_ns / each, bucket.sum.copy_ns / each, bucket.sum.call_ns / each,
                bucket.sum.all_ns / each, bucket.sum.host_faults / bucket.count};
    }
    return {};
}

RangeTotals* NamedRanges::totals_of(const trace::Range& record, std::uint32_t parent) {
    const auto found = names_.find({record.domain, record.text});
    if (found == names_.end() && names_.size() == most_names) {
        ++unnamed_;
        return nullptr;
    }
    RangeTotals& totals = found != names_.end() ? found->second : names_[{record.domain, record.text}];
    totals.text = record.text;
    totals.domain = record.domain;
    std::uint64_t depth = 0;
    for (std::uint32_t around = parent; around != 0 && depth < deepest;
         around = ranges_[around].parent, ++depth)
        if (ranges_[around].totals == &totals)
            return nullptr;
    totals.depth = std::min(totals.depth, depth);
    return &totals;
}

std::uint32_t NamedRanges::begin(const trace::Range& record, std::uint32_t thread, std::uint64_t now) {
    if (thread >= inner_.size())
        inner_.resize(std::size_t{thread} + 1);
    std::vector<std::uint32_t>& inner = inner_[thread];
    const std::uint32_t parent = inner.empty() ? 0 : inner.back();
    RangeTotals* const totals = totals_of(record, parent);
    std::uint32_t number = static_cast<std::uint32_t>(ranges_.size());
    if (free_.empty()) {
        ranges_.emplace_back();
    } else {
        number = free_.back();
        free_.pop_back();
        ranges_[number] = {};
    }
    Range& range = ranges_[number];
    range.totals = totals;
    range.thread = thread;
    range.parent = parent;
    range.begin = now;
    range.index = totals == nullptr ? 0 : totals->begun++;
    ++ranges_[parent].pending; // also of number 0, where nothing reads it
    inner.push_back(number);
    return number;
}

void NamedRanges::end(std::uint32_t number, std::uint64_t now) {
    Range& range = ranges_[number];
    std::vector<std::uint32_t>& inner = inner_[range.thread];
    inner.erase(std::next(std::find(inner.rbegin(), inner.rend(), number)).base());
    range.open = false;
    range.times.all_ns = now > range.begin ? static_cast<double>(now - range.begin) * ns_per_tick_ : 0;
    if (range.pending == 0)
        close(number);
}

/// All of this range is known now; with it, all of the range around it may be.
void NamedRanges::close(std::uint32_t number) {
    while (number != 0 && !ranges_[number].open && ranges_[number].pending == 0) {
        const Range range = ranges_[number];
        free_.push_back(number);
        if (range.whole && range.totals != nullptr)
            keep(range);
        Range& around = ranges_[range.parent];
        --around.pending;
        const double all_ns = around.times.all_ns;
        around.times.add(range.times);
        around.times.all_ns = all_ns;
        if (range.longest_ns > around.longest_ns) {
            around.longest_ns = range.longest_ns;
            around.longest = range.longest;
        }
        number = range.parent;
    }
}

void NamedRanges::keep(const Range& range) {
    RangeTotals& totals = *range.totals;
    totals.total.add(range.times);
    if (totals.count++ == 0 || range.times.all_ns > totals.worst.all_ns) {
        totals.worst = range.times;
        totals.worst_index = range.index;
        totals.longest = range.longest;
        totals.longest_ns = range.longest_ns;
    }
    auto bucket = totals.buckets.lower_bound(bucket_of(range.times.all_ns));
    const bool there = bucket != totals.buckets.end() && bucket->first == bucket_of(range.times.all_ns);
    if (!there && (buckets_ < most_buckets || totals.buckets.empty())) {
        ++buckets_;
        bucket = totals.buckets.try_emplace(bucket_of(range.times.all_ns)).first;
    } else if (!there && bucket == totals.buckets.end()) {
        --bucket; // too many: the next one has to do
    }
    ++bucket->second.count;
    bucket->second.sum.add(range.times);
}

std::uint32_t NamedRanges::hold(std::uint32_t thread) {
    const std::vector<std::uint32_t>& inner = inner_[thread];
    if (inner.empty())
        return 0;
    ++ranges_[inner.back()].pending;
    return inner.back();
}

void NamedRanges::settle(const facts::Call& call, double waited_ns) {
    Range& range = ranges_[call.range];
    const double own_ns = std::max(0.0, call.duration - waited_ns);
    range.times.wait_ns += call.duration - own_ns;
    (call.bytes != 0 ? range.times.copy_ns : range.times.call_ns) += own_ns;
    if (call.duration > range.longest_ns) {
        range.longest_ns = call.duration;
        range.longest = call.site;
    }
    if (--range.pending == 0)
        close(call.range);
}

void NamedRanges::add(const trace::Range& record, std::uint32_t thread, std::uint64_t now) {
    std::optional<std::uint32_t> ended;
    std::uint32_t number = 0;
    switch (record.action) {
    case trace::RangeAction::push:
        number = begin(record, thread, now);
        if (!open_.push(thread, record.domain, number))
            ended = number;
        break;
    case trace::RangeAction::start:
        number = begin(record, thread, now);
        if (!open_.start(record.id, number))
            ended = number;
        break;
    case trace::RangeAction::pop:
        ended = open_.pop(thread, record.domain);
        break;
    case trace::RangeAction::end:
        ended = open_.end(record.id);
        break;
    default:
        break;
    }
    if (ended) {
        ranges_[*ended].whole = ranges_[*ended].whole && number == 0;
        end(*ended, now);
    }
}

/// Counts host faults for the innermost range of each thread that is inside one.
void NamedRanges::add(const trace::ManagedEvent& record) {
    if (record.kind != trace::ManagedEventKind::host_fault || open_.empty())
        return;
    for (const std::vector<std::uint32_t>& inner : inner_)
        if (!inner.empty())
            ranges_[inner.back()].times.host_faults += record.count + 1;
}

/// Ranges that are open at that time are incomplete.
void NamedRanges::pause() {
    open_.clear();
    for (std::vector<std::uint32_t>& inner : inner_)
        while (!inner.empty()) {
            ranges_[inner.back()].whole = false;
            end(inner.back(), 0);
        }
}

} // namespace umadvisor::tables
