/// Which call each record is of, as rows name it.
#include "analyzer/facts/own_calls.hpp"
#include "analyzer/reports/html/timeline/pass.hpp"

#include <algorithm>

namespace umadvisor::html {
namespace {

constexpr std::size_t most_names = 20'000;

} // namespace

std::uint32_t Pass::name_of(const Named& named) {
    const auto [found, fresh] = names_.try_emplace(named, 0);
    if (fresh && out_.names.size() < most_names) {
        found->second = static_cast<std::uint32_t>(out_.names.size());
        out_.names.push_back(named);
    }
    return found->second;
}

Tag* Pass::known(Cause cause, const Named& named, bool is_kernel, std::pair<std::uint32_t, std::uint32_t> way,
                 const std::vector<std::uint32_t>& lines) {
    Tag*& tag = known_[{cause, named, way, lines}];
    if (tag == nullptr) {
        tags_.push_back({{},
                         cause,
                         is_kernel,
                         way.first,
                         way.second,
                         name_of(named),
                         worst_of(named.stack),
                         named.stack,
                         lines,
                         nullptr});
        tag = &tags_.back();
        if (cause != Cause::start)
            out_.cause_of[named.entry] = cause;
        if (is_kernel)
            tag->rounds = &steps_.rounds(named.stack);
        if (tag->worst != nullptr)
            tag->worst->watched = watched_.contains(named.stack);
    }
    return tag;
}

template <class Record>
Tag* Pass::tag_of_call(const Record& record) {
    if constexpr (requires {
                      record.stack;
                      record.entry;
                      record.duration;
                  }) {
        constexpr bool copies = std::is_same_v<Record, trace::Copy> || std::is_same_v<Record, trace::Set> ||
                                std::is_same_v<Record, trace::Prefetch>;
        constexpr bool allocates = std::is_same_v<Record, trace::Alloc> || std::is_same_v<Record, trace::Free>;
        constexpr double long_context = 1e6;
        Cause cause = copies ? Cause::copies : allocates ? Cause::allocation : Cause::calls;
        if constexpr (std::is_same_v<Record, trace::Context>)
            if (length(record.duration) > long_context)
                cause = Cause::start;
        std::pair<std::uint32_t, std::uint32_t> way{};
        if constexpr (std::is_same_v<Record, trace::Copy>)
            way = way_of(record);
        // Most calls repeat an earlier one.
        std::vector<Tag*>& recent = recent_[ids::StackId::of(record)];
        for (Tag* const tag : recent)
            if (tag->cause == cause && out_.names[tag->name].entry == record.entry && tag->from == way.first &&
                tag->to == way.second)
                return tag;
        Tag* const tag = known(cause, {record.entry, 0, ids::StackId::of(record)},
                               std::is_same_v<Record, trace::GraphLaunch>, way, {});
        if (tag->name != 0)
            recent.push_back(tag);
        return tag;
    } else {
        return nullptr;
    }
}

/// Nothing where it crosses no link.
std::pair<std::uint32_t, std::uint32_t> Pass::way_of(const trace::Copy& record) const {
    const auto end = [this](trace::Memory memory, trace::AllocationId allocation) -> std::uint32_t {
        if (facts::is_host_memory(memory))
            return 0;
        const std::uint32_t* const device = devices_.find(allocation);
        return device == nullptr ? 1 : *device + 1;
    };
    const std::uint32_t from = end(record.source_memory, record.source_allocation),
                        to = end(record.destination_memory, record.destination_allocation);
    // Managed memory may lie anywhere: the link is known only if the other end is on the host.
    const bool managed =
        record.source_memory == trace::Memory::managed || record.destination_memory == trace::Memory::managed;
    return managed && from != 0 && to != 0 ? std::pair(0u, 0u) : std::pair(from, to);
}

Tag* Pass::tag_of_launch(const reader::ThreadCursor& cursor) {
    const reader::Shape* const shape = cursor.shape();
    if (shape == nullptr)
        return nullptr;
    if (cursor.index() >= shapes_.size())
        shapes_.resize(cursor.index() + 1);
    std::vector<Tag*>& shapes = shapes_[cursor.index()];
    if (shape->place >= shapes.size())
        shapes.resize(shape->place + 1);
    Tag*& tag = shapes[shape->place];
    if (tag == nullptr) {
        std::vector<std::uint32_t> lines;
        for (const trace::AllocationId allocation : shape->touched)
            if (const std::uint32_t* const line = held_.find(allocation))
                lines.push_back(*line);
        std::ranges::sort(lines);
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        tag = known(Cause::calls, {shape->entry, shape->function, shape->stack}, true, {}, lines);
    }
    const auto& record = std::get<trace::Launch>(cursor.event());
    if (record.status == 0 && !shape->captured && !managed_.empty())
        for (const trace::AllocationId allocation : shape->touched)
            if (managed_.contains(allocation))
                step(step_at(PlaceStep::Kind::launch, at(record.start), allocation));
    return tag;
}

Tag* Pass::tag_of(const reader::ThreadCursor& cursor) {
    if (std::holds_alternative<trace::Launch>(cursor.event()))
        return tag_of_launch(cursor);
    if (std::holds_alternative<trace::LaunchShape>(cursor.event())) {
        if (cursor.index() < shapes_.size() && cursor.defined() != nullptr &&
            cursor.defined()->place < shapes_[cursor.index()].size())
            shapes_[cursor.index()][cursor.defined()->place] = nullptr;
        return nullptr;
    }
    return std::visit([this](const auto& record) { return tag_of_call(record); }, cursor.event());
}

} // namespace umadvisor::html
