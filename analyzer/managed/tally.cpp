#include "analyzer/managed/tally.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::managed {
namespace {

using reader::add_saturated;

constexpr std::size_t most_places = 4;

template <class Value>
void add_some(std::set<Value>& to, const Value& value) {
    if (value != Value{} && to.size() < most_places)
        to.insert(value);
}

} // namespace

void VerdictTally::add(const Verdict& verdict) {
    VerdictTotals& totals = kinds_[verdict.kind];
    ++totals.allocations;
    add_saturated(totals.times, verdict.times);
    add_saturated(totals.bytes, verdict.bytes);
    add_saturated(totals.new_bytes, verdict.new_bytes);
    add_saturated(totals.taken_back, verdict.taken_back);
    add_saturated(totals.prefetched_back, verdict.prefetched_back);
    add_saturated(totals.written, verdict.written);
    add_saturated(totals.pulls, verdict.pulls);
    add_saturated(totals.host_ticks, verdict.host_ticks);
    add_saturated(totals.same_part, verdict.same_part);
    add_some(totals.kernels, verdict.kernel);
    add_some(totals.host_codes, verdict.host_code);
    add_some(totals.prefetches, verdict.prefetch_stack);
}

void VerdictTally::add(const VerdictTally& other) {
    for (const auto& [kind, from] : other.kinds_) {
        VerdictTotals& totals = kinds_[kind];
        add_saturated(totals.allocations, from.allocations);
        add_saturated(totals.times, from.times);
        add_saturated(totals.bytes, from.bytes);
        add_saturated(totals.new_bytes, from.new_bytes);
        add_saturated(totals.taken_back, from.taken_back);
        add_saturated(totals.prefetched_back, from.prefetched_back);
        add_saturated(totals.written, from.written);
        add_saturated(totals.pulls, from.pulls);
        add_saturated(totals.host_ticks, from.host_ticks);
        add_saturated(totals.same_part, from.same_part);
        for (const facts::KernelSite& kernel : from.kernels)
            add_some(totals.kernels, kernel);
        for (const std::uint64_t code : from.host_codes)
            add_some(totals.host_codes, code);
        for (const ids::StackId stack : from.prefetches)
            add_some(totals.prefetches, stack);
    }
}

} // namespace umadvisor::managed
