/// A few bytes of device memory that a memory set sets again and again, for kernels that could do so
/// themselves.
#include "analyzer/facts/device_work.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/demangle.hpp"
#include "analyzer/symbols/ownership.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_sets = 100;  ///< fewer are no rounds
constexpr std::uint64_t most_bytes = 1024; ///< that a kernel writes beside its own work
constexpr double least_set_share = 0.01;   ///< of the run: a smaller one is not worth a change

struct SetTally {
    std::uint64_t count = 0, ticks = 0, all = 0, bytes = 0;
    std::map<ids::CallSite, std::uint64_t> sites{}; ///< `count` of each

    SetTally& operator+=(const SetTally& other) {
        count += other.count;
        ticks += other.ticks;
        all += other.all;
        bytes += other.bytes;
        for (const auto& [site, sets] : other.sites)
            sites[site] += sets;
        return *this;
    }
};

/// Counts memory sets of one place of the device to what the set before gave it, if a kernel of the program
/// reached its allocation in between, and no copy to the host did: that may bring what the kernel made of it,
/// and the host waits for it anyway. Memory: one tally a call site, a flag for each kernel, and for each thread
/// its latest `most_places` places.
struct SetEachLaunch : LineRule<SetEachLaunch, SetTally> {
    explicit SetEachLaunch(const Begin& begin) : dictionary_(begin.dictionary) {}

    void add(const trace::Set& record, std::uint32_t thread) {
        if (record.status != 0 || record.captured != 0)
            return;
        const ids::CallSite site = ids::CallSite::of(record);
        SetTally& tally = at(site);
        ++tally.all;
        if (record.bytes > most_bytes || record.memory != trace::Memory::device)
            return;
        Places& places = places_[thread];
        auto found = std::ranges::find(places.all, record.address, &Place::address);
        if (found == places.all.end())
            found = places.all.begin() + static_cast<std::ptrdiff_t>(places.next++ % most_places);
        const Place before = *found;
        *found = {record.address, record.bytes, record.value, record.allocation, site};
        if (before.address != record.address || before.bytes != record.bytes || before.value != record.value ||
            before.allocation != record.allocation || before.site != site || !before.reached || before.brought)
            return;
        ++tally.count;
        ++tally.sites[site];
        tally.ticks += record.duration;
        tally.bytes += record.bytes;
    }
    void add(const Launched& launched) {
        Places* const places = places_.find(launched.thread);
        if (places == nullptr || launched.shape == nullptr)
            return;
        const reader::Shape& shape = *launched.shape;
        for (Place& place : places->all)
            if (place.bytes != 0 && !place.reached)
                place.reached = std::ranges::find(shape.touched, place.allocation) != shape.touched.end() &&
                                is_own(shape.function);
    }
    void add(const trace::Copy& record, std::uint32_t thread) {
        Places* const places = places_.find(thread);
        if (places == nullptr || facts::is_device_memory(record.destination_memory))
            return;
        for (Place& place : places->all)
            place.brought |= place.allocation == record.source_allocation;
    }
    void add(const trace::Pause&) { places_.clear(); }

    std::optional<Finding> judge(const Line<SetTally>& line) const {
        const SetTally& tally = line.tally;
        if (tally.count < least_sets || dictionary_.is_python(line.stack) ||
            library_call_at(dictionary_, line.stack).memory != nullptr)
            return std::nullopt;
        const auto sets = static_cast<double>(tally.count);
        const double call_ns = line.ns(tally.ticks);
        const double device_ns = line.profile.device_ns(tally.sites);
        Finding finding;
        finding.saving_ns = call_ns + device_ns;
        if (finding.saving_ns < line.share_of_run(least_set_share))
            return std::nullopt;
        finding.summary =
            fmt::format("{} of {}, {} with kernels in between: {} in the calls and {} on the device",
                        line.profile.call_name(line.entry), bytes_text(static_cast<double>(tally.bytes) / sets),
                        count_text(tally.count, "time"), time_text(call_ns), time_text(device_ns));
        finding.evidence = {{"sets", sets}, {"time_ns", call_ns}, {"device_ns", device_ns}};
        finding.advice =
            "let an earlier kernel set these bytes (for example the last block of the kernel that uses them), "
            "or give each launch a separate slot in an array that is set once for hundreds of launches";
        finding.edit = line.calls.gone(line.profile);
        finding.basis = "replay of the run without these calls and their device time";
        finding.confidence = Confidence::medium;
        return finding;
    }

private:
    static constexpr std::size_t most_places = 8;
    struct Place {
        std::uint64_t address = 0, bytes = 0, value = 0;
        trace::AllocationId allocation{};
        ids::CallSite site;
        bool reached = false, brought = false; ///< since: by a kernel; to the host
    };
    struct Places {
        std::array<Place, most_places> all{};
        std::size_t next = 0;
    };

    /// No program changes kernels of a library, whose memory sets they come with.
    bool is_own(std::uint64_t function) {
        const auto [found, fresh] = own_.try_emplace(function, false);
        if (fresh) {
            symbols::CodePlace kernel;
            kernel.function = symbols::short_name(dictionary_.function_symbol(function));
            found->second = symbols::is_own(ownership_.of(kernel));
        }
        return found->second;
    }

    const reader::Dictionary& dictionary_;
    symbols::Ownership ownership_;
    std::map<std::uint64_t, bool> own_; ///< by function
    facts::PerThread<Places> places_;
};

} // namespace

constinit const Rule uma_126{.id = "UMA-126",
                             .name = "set-each-launch",
                             .title = "a memory set before each launch",
                             .find = &SetEachLaunch::find<uma_126>,
                             .counter = &count<SetEachLaunch>};

} // namespace umadvisor::rules
