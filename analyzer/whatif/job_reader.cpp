#include "analyzer/whatif/job_reader.hpp"

#include "analyzer/reader/event_stream.hpp"
#include "analyzer/tables/graphs.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <variant>

namespace umadvisor::whatif {
namespace {

bool reaches_device(trace::Location location) {
    return location == trace::Location::device;
}

/// How far a copy or a set of rows reaches from its first byte.
std::uint64_t span_of(std::uint64_t bytes, std::uint64_t width, std::uint64_t height, std::uint64_t pitch) {
    return height > 1 && pitch > width ? (height - 1) * pitch + width : bytes;
}

class JobReader {
public:
    JobReader(reader::Trace& trace, bool rewritten)
        : trace_(trace), graphs_(trace.dictionary, samples_), rewritten_(rewritten) {
        const trace::ManagedSource* const source =
            trace.dictionary.managed_sources.empty() ? nullptr : &trace.dictionary.managed_sources.back();
        read_.unknowns.host_blind = source == nullptr || source->source == trace::ManagedSourceKind::none;
        sampled_ = source == nullptr || source->source == trace::ManagedSourceKind::pagemap;
        const auto& header = trace.file.header();
        read_.duration_ns = time_of(header.last.ticks);
        read_.job.unit_ns = std::max(1.0, static_cast<double>(read_.duration_ns) / 4e9);
    }

    ReadJob read() {
        reader::EventStream events(trace_.file);
        while (const reader::ThreadCursor* cursor = events.next()) {
            cursor_ = cursor;
            ++read_.records;
            std::visit([this](const auto& record) { observe(record); }, cursor->event());
        }
        read_.job.parts_known = faults_known_ && ever_detailed_;
        read_.unknowns.host_blind = read_.unknowns.host_blind || (sampled_ && !ever_sampled_);
        read_.job.finish();
        return std::move(read_);
    }

private:
    struct Live {
        std::uint32_t extent;
        std::uint64_t address, bytes;
    };

    std::uint64_t time_of(std::uint64_t ticks) const {
        const std::uint64_t first = trace_.file.header().first.ticks;
        return ticks > first ? trace_.time.length(ticks - first) : 0;
    }

    template <class Record>
    void observe(const Record& record) {
        if constexpr (requires { record.duration; }) {
            const std::uint64_t end = time_of(record.start + record.duration);
            read_.duration_ns = std::max(read_.duration_ns, end);
        }
        if constexpr (requires { record.status; })
            if (record.status != 0)
                return;
        if constexpr (requires { record.captured; } && !std::is_same_v<Record, trace::LaunchShape>)
            if (record.captured != 0)
                return;
        if constexpr (requires { add(record); })
            add(record);
    }

    void add(const trace::Context& record) {
        if (record.context != 0)
            read_.devices.insert(record.device);
    }

    Live* find(trace::AllocationId allocation) {
        const auto found = live_.find(allocation);
        return found == live_.end() ? nullptr : &found->second;
    }
    Live* find_moving(trace::AllocationId allocation) {
        Live* const found = find(allocation);
        return found != nullptr && moves(*found) ? found : nullptr;
    }
    bool moves(const Live& live) const {
        return live.extent < read_.job.extents().size() && read_.job.extents()[live.extent].moves;
    }
    Live* find_at(std::uint64_t address) {
        const auto next = by_address_.upper_bound(address);
        if (next == by_address_.begin())
            return nullptr;
        Live* const live = find_moving(std::prev(next)->second);
        return live != nullptr && address < live->address + live->bytes ? live : nullptr;
    }
    static Part part_of(const Live& live, std::uint64_t address, std::uint64_t bytes) {
        Part part;
        part.extent = live.extent;
        part.offset = address - std::min(address, live.address);
        part.bytes = std::min(bytes, live.bytes - std::min(part.offset, live.bytes));
        return part;
    }

    void add(const trace::Alloc& record) {
        using trace::Memory;
        const bool managed = record.memory == Memory::managed && record.origin == trace::Origin::program;
        const bool device = record.memory == Memory::device || record.memory == Memory::array ||
                            (record.memory == Memory::managed && !managed);
        if (!known(record.allocation) || record.bytes == 0 || (!managed && !device))
            return;
        const bool moves = managed || (rewritten_ && record.memory != Memory::array);
        const Live live{read_.job.begin(time_of(record.start), record.address, record.bytes, moves),
                        record.address, record.bytes};
        live_[record.allocation] = live;
        if (moves)
            by_address_[record.address] = record.allocation;
    }
    void add(const trace::Free& record) {
        const auto found = live_.find(record.allocation);
        if (found == live_.end())
            return;
        read_.job.end(time_of(record.start), found->second.extent);
        by_address_.erase(found->second.address);
        live_.erase(found);
    }

    void add(const trace::Launch& record) {
        const reader::Shape* const shape = cursor_->shape();
        if (shape == nullptr || shape->captured)
            return;
        read_.unknowns.unscanned += !shape->scanned || shape->untold != 0;
        launch(record.start, shape->touched, [](trace::AllocationId id) { return id; });
    }
    void add(const trace::GraphLaunch& record) {
        read_.unknowns.unscanned += record.version == 0;
        launch(record.start, graphs_.touches(record.version),
               [](const tables::GraphTouch& touch) { return touch.allocation; });
    }
    template <class Ids, class IdOf>
    void launch(std::uint64_t start, const Ids& ids, const IdOf& id_of) {
        reach_.clear();
        for (const auto& id : ids)
            if (const Live* const live = find_moving(id_of(id)))
                if (std::find(reach_.begin(), reach_.end(), live->extent) == reach_.end())
                    reach_.push_back(live->extent);
        read_.job.launch(time_of(start), reach_);
    }

    /// The copy engine reaches managed memory as the device does.
    void touch(std::uint64_t start, trace::AllocationId allocation, std::uint64_t address, std::uint64_t bytes,
               residency::Access access) {
        const Live* const live = find_moving(allocation);
        if (live == nullptr)
            return;
        Part part = part_of(*live, address, bytes);
        part.access = access;
        part.device = true;
        read_.job.add(time_of(start), StepKind::touch, part);
    }
    void add(const trace::Copy& record) {
        touch(record.start, record.source_allocation, record.source,
              span_of(record.bytes, record.width, record.height, record.source_pitch), residency::Access::read);
        touch(record.start, record.destination_allocation, record.destination,
              span_of(record.bytes, record.width, record.height, record.destination_pitch),
              residency::Access::write);
    }
    void add(const trace::Set& record) {
        touch(record.start, record.allocation, record.address,
              span_of(record.bytes, record.width, record.height, record.pitch), residency::Access::write);
    }

    void add(const trace::Prefetch& record) {
        const Live* const live = find_moving(record.allocation);
        if (live == nullptr)
            return;
        Part part = part_of(*live, record.address, record.bytes);
        part.device = reaches_device(record.location);
        if (part.device)
            read_.job.reached(part.extent, part.offset, part.bytes);
        if (record.origin != trace::Origin::umadvisor)
            read_.job.add(time_of(record.start), StepKind::prefetch, part);
        else if (record.reason == trace::Reason::host_returns) {
            // The host was going to touch it; since umadvisor brought it there, no fault shows that.
            part.access = residency::Access::write;
            read_.job.add(time_of(record.start), StepKind::touch, part);
        }
    }
    void add(const trace::Advise& record) {
        const Live* const live = find_moving(record.allocation);
        // CUmem_advise counts from 1, in the order of residency::Advice.
        if (live == nullptr || record.origin == trace::Origin::umadvisor || record.advice < 1 ||
            record.advice > 6)
            return;
        Part part = part_of(*live, record.address, record.bytes);
        part.device = reaches_device(record.location);
        part.advice = static_cast<residency::Advice>(record.advice - 1);
        read_.job.add(time_of(record.start), StepKind::advise, part);
    }
    void add(const trace::Discard& record) {
        if (const Live* const live = find_moving(record.allocation))
            read_.job.add(time_of(record.start), StepKind::discard,
                          part_of(*live, record.address, record.bytes));
    }

    void add(const trace::ManagedCounters& record) { read_.totals.add(record); }
    void add(const trace::ManagedDetail& record) {
        read_.totals.add(record);
        faults_known_ = faults_known_ && record.lost == 0 &&
                        (record.kinds >> static_cast<unsigned>(trace::ManagedEventKind::device_fault) & 1) != 0;
        ever_detailed_ = true;
    }
    void add(const trace::ManagedEvent& record) {
        read_.totals.add(record);
        using Kind = trace::ManagedEventKind;
        const bool to_device =
            record.kind == Kind::device_fault || (record.kind == Kind::migration && record.to != 0);
        if (!to_device && record.kind != Kind::host_fault)
            return;
        const Live* const live = find_at(record.address);
        if (live == nullptr) {
            ++read_.unknowns.faults;
            return;
        }
        Part part = part_of(*live, record.address, std::max<std::uint64_t>(record.bytes, 1));
        if (to_device)
            return read_.job.reached(part.extent, part.offset, part.bytes);
        part.access = record.cause == static_cast<std::uint64_t>(trace::FaultAccess::read)
                          ? residency::Access::read
                          : residency::Access::write;
        read_.job.add(time_of(record.start), StepKind::touch, part);
    }
    /// Where no faults are recorded: what the host has mapped it has touched, from the first page on.
    void add(const trace::Residency& record) {
        ever_sampled_ = true;
        const Live* const live = sampled_ ? find_moving(record.allocation) : nullptr;
        if (live == nullptr || record.host_pages == 0)
            return;
        Part part = part_of(*live, live->address + record.offset, record.host_pages * residency::page_bytes);
        part.access = residency::Access::write;
        read_.job.add(time_of(record.start), StepKind::touch, part);
    }

    reader::Trace& trace_;
    facts::Samples samples_; ///< device times are of no use here
    tables::Graphs graphs_;
    bool rewritten_, sampled_ = false, ever_sampled_ = false, faults_known_ = true, ever_detailed_ = false;
    const reader::ThreadCursor* cursor_ = nullptr;
    ReadJob read_;
    std::unordered_map<trace::AllocationId, Live> live_;      ///< by id
    std::map<std::uint64_t, trace::AllocationId> by_address_; ///< id of those that move
    std::vector<std::uint32_t> reach_;
};

} // namespace

ReadJob read_job(reader::Trace& trace, bool rewritten) {
    return JobReader(trace, rewritten).read();
}

} // namespace umadvisor::whatif
