/// UMA-219: advice lets each reader have a copy of its own, and a kernel writes the memory. Each write to a
/// page with copies is a fault, in which the driver takes the other copies away.
#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/managed/verdict.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t set_read_mostly = 1, unset_read_mostly = 2; // CUmem_advise
constexpr std::uint64_t device_zero = 1;                            ///< of processors in events
constexpr std::uint64_t least_launches = 3; ///< that write: what is set up once may be read for long
/// Kernels that wrote 64 MiB whose pages the host had copies of took 45 us a page on an H200.
constexpr double collapse_ns = 45'000;

struct WrittenTally {
    std::uint64_t count = 0, ticks = 0;
    std::uint64_t launches = 0;         ///< that took copies away
    std::uint64_t pages = 0, bytes = 0; ///< pages whose copies they took away; bytes of the allocations
    ids::StackId launch_stack;          ///< of one of them
    std::map<const tables::Launches::Group*, std::uint64_t> groups{}; ///< of them, and how many of each

    WrittenTally& operator+=(const WrittenTally& other) {
        count += other.count;
        ticks += other.ticks;
        launches += other.launches;
        pages += other.pages;
        bytes += other.bytes;
        launch_stack = std::max(launch_stack, other.launch_stack);
        for (const auto& [group, times] : other.groups)
            groups[group] += times;
        return *this;
    }
};

/// Memory: live allocations with the advice, and one tally a line.
class WrittenReadMostly : public LineRule<WrittenReadMostly, WrittenTally> {
public:
    explicit WrittenReadMostly(const Begin& begin) : written_(begin.dictionary) {}

    void add(const trace::Alloc& record) { written_.add(record); }
    void add(const trace::Free& record) {
        std::erase_if(advised_, [&](const auto& each) { return each.second.allocation == record.allocation; });
    }
    void add(const trace::Advise& record) {
        if (record.status != 0 || record.origin != trace::Origin::program)
            return;
        if (record.advice == unset_read_mostly)
            advised_.erase(record.address);
        if (record.advice != set_read_mostly || record.bytes == 0)
            return;
        WrittenTally& tally = at(ids::CallSite::of(record));
        ++tally.count;
        tally.ticks += record.duration;
        reader::add_saturated(tally.bytes, record.bytes);
        Memory& memory = advised_[record.address];
        memory = {};
        memory.bytes = record.bytes;
        memory.allocation = record.allocation;
        memory.tally = &tally;
    }
    void add(const Launched& launched) {
        if (advised_.empty() || launched.shape == nullptr || launched.group == nullptr)
            return;
        for (auto& [address, memory] : advised_) {
            const auto& touched = launched.shape->touched;
            const auto found = std::ranges::find(touched, memory.allocation);
            if (found == touched.end() ||
                !written_.may_write(*launched.shape, static_cast<std::size_t>(found - touched.begin())))
                continue;
            memory.writer = launched.group;
            memory.stack = ids::StackId::of(*launched.shape);
            memory.counted = false;
        }
    }
    void add(const trace::ManagedEvent& record) {
        if (record.kind != trace::ManagedEventKind::read_duplicate_end || record.to < device_zero)
            return;
        const auto behind = advised_.upper_bound(record.address);
        if (behind == advised_.begin())
            return;
        auto& [address, memory] = *std::prev(behind);
        if (record.address - address >= memory.bytes || memory.writer == nullptr)
            return;
        WrittenTally& tally = *memory.tally;
        tally.pages += std::max<std::uint64_t>(1, record.bytes / managed::page);
        if (!std::exchange(memory.counted, true)) {
            ++tally.launches;
            ++tally.groups[memory.writer];
            tally.launch_stack = memory.stack;
        }
    }

    std::optional<Finding> judge(const Line<WrittenTally>& line) const;

private:
    struct Memory {
        std::uint64_t bytes = 0;
        trace::AllocationId allocation{};
        WrittenTally* tally = nullptr;                   ///< of the line that gave the advice
        const tables::Launches::Group* writer = nullptr; ///< the latest launch that may write it
        ids::StackId stack;                              ///< of that
        bool counted = false;                            ///< that launch took copies away
    };
    facts::WrittenParameters written_;
    std::map<std::uint64_t, Memory> advised_; ///< by address
};

std::optional<Finding> WrittenReadMostly::judge(const Line<WrittenTally>& line) const {
    const WrittenTally& tally = line.tally;
    if (tally.launches < least_launches || memory_use_is_unknown(line.profile))
        return std::nullopt;
    double device_ns = 0;
    std::set<std::uint64_t> kernels;
    for (const auto& [group, times] : tally.groups) {
        kernels.insert(group->first.function);
        device_ns += group->second.settled_ns *
                     std::min(1.0, static_cast<double>(times) / static_cast<double>(group->second.count));
    }
    const machine::Rates& rates = line.profile.rates();
    const auto moved = static_cast<double>(tally.pages) * managed::page;
    const double faults_ns = std::min(device_ns, static_cast<double>(tally.pages) * collapse_ns);
    const double stays_ns = moved / rates.fault_to_device * 1e9 + moved / rates.fault_to_host * 1e9;
    return Finding{
        .summary =
            fmt::format("{} wrote memory with this advice in {}, and each time the driver removed copies of "
                        "{}, page by page",
                        kernels_text(line.profile, kernels), count_text(tally.launches, "launch"),
                        bytes_text(moved / static_cast<double>(tally.launches))),
        .evidence = {{"launches", static_cast<double>(tally.launches)},
                     {"pages", static_cast<double>(tally.pages)},
                     {"device_ns", device_ns}},
        .places = {{"written here", tally.launch_stack}},
        .advice = fmt::format("remove {}MemAdvise with read-mostly for memory that kernels write, or set it "
                              "only while nothing writes and unset it before the next kernel that does",
                              line.profile.uses_runtime() ? "cuda" : "cu"),
        .saving_ns = std::max(0.0, faults_ns - stays_ns),
        .basis = fmt::format("device time of these launches, at most {} a page as on an H200, minus the time "
                             "of page faults that move the same bytes back and forth",
                             time_text(collapse_ns)),
        .confidence = Confidence::medium};
}

} // namespace

constinit const Rule uma_219{.id = "UMA-219",
                             .name = "written-read-mostly",
                             .title = "read-mostly advice on memory that is written",
                             .find = &WrittenReadMostly::find<uma_219>,
                             .counter = &count<WrittenReadMostly>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
