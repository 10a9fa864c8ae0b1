/// Copies between a device and page-locked memory on another NUMA node: every byte crosses the link between
/// sockets, too.
#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/transfers/detours.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/copies.hpp"
#include "analyzer/tables/narrow_rows.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

namespace umadvisor::rules {
namespace {

/// The time of a smaller copy shows little about the path of its bytes.
constexpr std::uint64_t least_far_bytes = 1024 * 1024;

struct FarSite {
    tables::CopySite copy;
    std::uint64_t device_node = 0, host_node = 0;
    ids::CallSite allocation; ///< of the host's memory
    auto operator<=>(const FarSite&) const = default;
};

/// Copies whose time is known.
struct TimedCopies {
    std::uint64_t count = 0, bytes = 0, ns = 0;
};

struct FarTotals {
    facts::Direction direction{};
    std::uint64_t count = 0, bytes = 0;
    TimedCopies sampled;  ///< by the device
    TimedCopies quickest; ///< the one synchronous call with the highest rate: others waited for kernels, too

    /// The copies that show their rate; a count of 0: none does.
    const TimedCopies& timed() const { return sampled.count != 0 ? sampled : quickest; }
};

/// Counts copies of least_far_bytes and more whose host memory and device are on known nodes, except those of
/// managed memory, of narrow rows and inside graphs. Memory: one entry a site that copies between nodes.
class FarCopies : public Counter {
public:
    explicit FarCopies(const Begin& begin);

    void add(const trace::Copy& copy);

    const std::map<FarSite, FarTotals>& sites() const { return sites_; }
    /// Copies of link_copy_bytes and more between a device and memory on its own node.
    FarTotals near(facts::Direction direction) const;

private:
    std::uint64_t node_of(const trace::Alloc* made) const;
    FarTotals* totals_of(const trace::Copy& copy, facts::Direction direction);

    const reader::Trace& trace_;
    const facts::LiveMemory& live_;
    facts::Samples& samples_;
    std::unordered_map<std::uint64_t, std::uint64_t> nodes_; ///< by device, plus 1
    std::map<FarSite, FarTotals> sites_;
    std::map<facts::Direction, FarTotals> near_;
};

/// Bytes by nanoseconds, cross-multiplied; of nothing the rate is 0.
bool is_quicker(const TimedCopies& a, const TimedCopies& b) {
    return b.count == 0 || static_cast<double>(a.bytes) * static_cast<double>(b.ns) >
                               static_cast<double>(b.bytes) * static_cast<double>(a.ns);
}

FarCopies::FarCopies(const Begin& begin) : trace_(begin.trace), live_(begin.live), samples_(begin.samples) {
    for (const trace::Device& device : begin.dictionary.devices)
        if (device.node != 0)
            nodes_[device.ordinal] = device.node;
}

/// Plus 1; 0: not known.
std::uint64_t FarCopies::node_of(const trace::Alloc* made) const {
    if (made == nullptr || facts::is_page_locked(made->memory))
        return made == nullptr ? 0 : made->node;
    const auto found = facts::is_device_memory(made->memory) ? nodes_.find(made->device) : nodes_.end();
    return found == nodes_.end() ? 0 : found->second;
}

FarTotals* FarCopies::totals_of(const trace::Copy& copy, facts::Direction direction) {
    const bool up =
        facts::is_page_locked(copy.source_memory) && facts::is_device_memory(copy.destination_memory);
    const bool down =
        facts::is_device_memory(copy.source_memory) && facts::is_page_locked(copy.destination_memory);
    if (!up && !down)
        return nullptr;
    const trace::Alloc* const host = live_.find(up ? copy.source_allocation : copy.destination_allocation);
    const trace::Alloc* const device = live_.find(up ? copy.destination_allocation : copy.source_allocation);
    const std::uint64_t host_node = node_of(host), device_node = node_of(device);
    if (host_node == 0 || device_node == 0)
        return nullptr;
    if (host_node == device_node)
        return copy.bytes >= tables::link_copy_bytes ? &near_[direction] : nullptr;
    return &sites_[{.copy = {ids::CallSite::of(copy), copy.host_range, copy.source_memory,
                             copy.destination_memory, copy.asynchronous != 0, copy.batch != 0, false},
                    .device_node = device_node,
                    .host_node = host_node,
                    .allocation = ids::CallSite::of(*host)}];
}

void FarCopies::add(const trace::Copy& copy) {
    if (nodes_.empty() || copy.bytes < least_far_bytes || copy.status != 0 ||
        copy.origin != trace::Origin::program || tables::has_narrow_rows(copy))
        return;
    const facts::Direction direction = facts::direction_of(copy, trace_.dictionary.symbol(copy.entry));
    FarTotals* const totals = totals_of(copy, direction);
    if (totals == nullptr)
        return;
    totals->direction = direction;
    ++totals->count;
    totals->bytes += copy.bytes;
    if (copy.asynchronous == 0 && copy.batch == 0) {
        const TimedCopies call{1, copy.bytes, trace_.time.length(copy.duration)};
        if (is_quicker(call, totals->quickest))
            totals->quickest = call;
    }
    samples_.await(copy.sample, [&sampled = totals->sampled, bytes = copy.bytes](std::uint64_t ns) {
        ++sampled.count;
        sampled.bytes += bytes;
        sampled.ns += ns;
    });
}

FarTotals FarCopies::near(facts::Direction direction) const {
    const auto found = near_.find(direction);
    return found == near_.end() ? FarTotals{} : found->second;
}

/// A rate of at least this share of the near rate counts as equal to it.
constexpr double as_fast_as_near = 0.95;

/// By line, direction, and the nodes of device and memory.
using FarKey = std::tuple<ids::StackId, facts::Direction, std::uint64_t, std::uint64_t>;

struct FarLine {
    EditedCalls calls;
    double copies = 0, bytes = 0, spent_ns = 0, near_ns = 0;
    std::uint64_t entry = 0, most_bytes = 0;
    ids::CallSite allocation; ///< that most of it lies in
    trace::Memory memory{};
};

/// The rate of copies in a direction where the memory is near. Each copy also costs its call.
struct NearRate {
    double bytes_per_second = 0;
    std::string_view basis;
    Confidence confidence{};
};

bool is_upload(facts::Direction direction) {
    return direction == facts::Direction::HtoD || direction == facts::Direction::HtoA;
}

NearRate near_rate(const Profile& profile, facts::Direction direction) {
    const machine::Rates& rates = profile.rates();
    const FarTotals near = profile.counted<FarCopies>().near(direction);
    const TimedCopies& timed = near.timed();
    const double moving_ns =
        static_cast<double>(timed.ns) - static_cast<double>(timed.count) * rates.small_copy_ns;
    if (timed.count != 0 && moving_ns > 0)
        return {static_cast<double>(timed.bytes) / moving_ns * 1e9,
                "the rate that copies of 16 MiB and more from or to near memory reached in this trace",
                Confidence::high};
    const double rate = is_upload(direction) ? rates.pinned_to_device : rates.device_to_pinned;
    return rates.device.empty()
               ? NearRate{rate, "the rate of near memory, measured on an H200", Confidence::low}
               : NearRate{rate, "the calibrated one", Confidence::medium};
}

/// Of a site's copies, those that no rule advises to do without.
double kept_share(const Profile& profile, const tables::CopySite& site) {
    if (profile.counted<ThroughHost>().tells_of(site))
        return 0;
    const auto found = profile.copies().sites().find(site);
    if (!fates_are_known(profile) || found == profile.copies().sites().end())
        return 1;
    const auto all = static_cast<double>(found->second.large.bytes);
    return 1 - static_cast<double>(profile.counted<DeviceContents>().reported(site, false).bytes) / all;
}

void add_site(FarLine& line, const FarSite& site, const FarTotals& totals, double share, double near_ns) {
    const TimedCopies& timed = totals.timed();
    line.copies += share * static_cast<double>(totals.count);
    line.calls.add(site.copy, static_cast<std::uint64_t>(share * static_cast<double>(totals.count)));
    line.bytes += share * static_cast<double>(totals.bytes);
    line.spent_ns += share * static_cast<double>(totals.bytes) * static_cast<double>(timed.ns) /
                     static_cast<double>(timed.bytes);
    line.near_ns += share * near_ns;
    line.entry = site.copy.entry;
    if (totals.bytes > line.most_bytes) {
        line.most_bytes = totals.bytes;
        line.allocation = site.allocation;
        line.memory = is_upload(totals.direction) ? site.copy.source : site.copy.destination;
    }
}

std::string advise_node(trace::Memory memory, const std::string& node) {
    return fmt::format("{0} on a thread that runs on the device's NUMA node {1} (pthread_setaffinity_np to its "
                       "CPUs first); or run the whole program there: numactl --cpunodebind={1} --membind={1}",
                       memory == trace::Memory::registered ? "write it for the first time" : "allocate it",
                       node);
}

std::optional<Finding> describe_far_node(const Profile& profile, const FarKey& key, const FarLine& line) {
    if (line.near_ns >= as_fast_as_near * line.spent_ns)
        return std::nullopt;
    const auto& [stack, direction, device_node, host_node] = key;
    const NearRate near = near_rate(profile, direction);
    const std::string here = std::to_string(host_node - 1), there = std::to_string(device_node - 1);
    const bool up = is_upload(direction);
    const double rate = line.bytes / line.spent_ns * 1e9;
    const auto copies = static_cast<std::uint64_t>(std::llround(line.copies));

    Finding finding;
    finding.summary = fmt::format(
        "{} {} x {}{}memory on NUMA node {}{}a device at node {}, {}; near memory has {}",
        profile.call_name(line.entry), bytes_text(line.bytes / line.copies), copies, up ? " from " : " to ",
        here, up ? " to " : " from ", there, rate_text(rate), rate_text(near.bytes_per_second));
    finding.evidence = {{"copies", line.copies},
                        {"bytes", line.bytes},
                        {"time_ns", line.spent_ns},
                        {"rate_bytes_per_s", rate},
                        {"near_rate_bytes_per_s", near.bytes_per_second},
                        {"host_node", static_cast<double>(host_node - 1)},
                        {"device_node", static_cast<double>(device_node - 1)}};
    finding.allocation_stack = line.allocation.stack;
    finding.allocation_text = profile.call_name(line.allocation.entry);
    finding.advice = advise_node(line.memory, there);
    finding.saving_ns = line.spent_ns - line.near_ns;
    finding.edit = line.calls.faster(profile, static_cast<std::uint64_t>(line.bytes), finding.saving_ns);
    finding.basis = fmt::format("time of these copies minus the same bytes at {}, {}",
                                rate_text(near.bytes_per_second), near.basis);
    finding.confidence = near.confidence;
    return finding;
}

} // namespace

std::vector<Finding> find_far_nodes(const Profile& profile, const LineOf& line_of) {
    std::map<FarKey, FarLine> lines;
    for (const auto& [site, totals] : profile.counted<FarCopies>().sites()) {
        const double share = kept_share(profile, site.copy);
        if (totals.timed().count == 0 || share <= 0)
            continue;
        const NearRate near = near_rate(profile, totals.direction);
        const double near_ns = static_cast<double>(totals.count) * profile.rates().small_copy_ns +
                               static_cast<double>(totals.bytes) / near.bytes_per_second * 1e9;
        add_site(lines[{line_of(site.copy.stack), totals.direction, site.device_node, site.host_node}], site,
                 totals, share, near_ns);
    }
    return judge_lines(uma_113, profile, lines, describe_far_node);
}

constinit const Rule uma_113{.id = "UMA-113",
                             .name = "far-node",
                             .title = "page-locked memory on another NUMA node than the device's",
                             .find = &find_far_nodes,
                             .counter = &count<FarCopies>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
