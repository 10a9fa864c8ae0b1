#include "analyzer/advice/lost_order.hpp"

#include "analyzer/facts/at_once.hpp"
#include "analyzer/rules/hidden_order.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace umadvisor::advice {

LostOrder::LostOrder(const reader::Dictionary& dictionary, std::vector<OrderEdit> edits)
    : dictionary_(dictionary), written_(dictionary) {
    for (OrderEdit& edit : edits)
        edited_.emplace_back(std::move(edit));
    for (std::size_t i = 0; i < edited_.size(); ++i) {
        if (edited_[i].is_apart())
            apart_.push_back(i);
        for (const auto& [site, change] : edited_[i].edit()) {
            ChangesOf& changes = changes_[site];
            changes.resize(edited_.size());
            changes[i] = &change;
        }
    }
    if (rules::graphs_have_events(dictionary))
        base_.give_up();
}

template <class Record>
void LostOrder::observe(const Record& record) {
    if constexpr (requires { rules::hides_order(record); })
        if (rules::hides_order(record))
            base_.give_up();
    if constexpr (std::is_same_v<Record, trace::Stream>)
        streams_made_ = true;
}

void LostOrder::observe(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    written_.add(record);
    const ids::AllocationSite site{ids::CallSite::of(record), record.symbol, record.memory, record.origin};
    live_[record.allocation] = {record.address, record.bytes, site};
    if (several_streams())
        for (EditedOrder& each : edited_)
            each.allocated(record.allocation, site);
}

/// The parts of a call that frees several have no call of their own.
void LostOrder::observe(const trace::Free& record) {
    if (record.part == 0)
        return;
    live_.erase(record.allocation);
    for (EditedOrder& each : edited_)
        each.freed(record.allocation);
}

void LostOrder::touch(trace::AllocationId allocation, Touch touch) {
    const Memory* const memory = live_.find(allocation);
    if (memory == nullptr)
        return;
    const bool whole = touch.last == 0;
    touch.allocation = allocation;
    touch.first = whole ? 0 : touch.first - std::min(touch.first, memory->address);
    touch.last = whole ? memory->bytes : touch.last - std::min(touch.last, memory->address);
    use_.seen_by_host |= touch.writes && memory->is_on_host();
    use_.touches.push_back(touch);
}

bool LostOrder::is_on_host(trace::AllocationId allocation) const {
    const Memory* const memory = live_.find(allocation);
    return memory != nullptr && memory->is_on_host();
}

void LostOrder::look_at(const trace::Copy& copy) {
    const Touch read{.first = copy.source,
                     .last = copy.source + copy.bytes,
                     .made_of = 0,
                     .kind = rules::AccessKind::copy,
                     .writes = false};
    const Touch write{.first = copy.destination,
                      .last = copy.destination + copy.bytes,
                      .made_of = copy.source - copy.destination,
                      .kind = rules::AccessKind::copy,
                      .writes = true};
    const Touch whole{.kind = rules::AccessKind::copy};
    if (known(copy.source_allocation))
        touch(copy.source_allocation,
              rules::is_one_piece(copy.width, copy.height, copy.depth, copy.source_pitch) ? read : whole);
    if (known(copy.destination_allocation)) {
        Touch all = whole;
        all.writes = true;
        touch(copy.destination_allocation,
              rules::is_one_piece(copy.width, copy.height, copy.depth, copy.destination_pitch) ? write : all);
    }
    use_.seen_by_host |= facts::is_host_memory(copy.destination_memory);
    if (facts::is_host_memory(copy.source_memory) && copy.width == 0 && copy.batch == 0) {
        use_.source = copy.source;
        use_.source_bytes = copy.bytes;
        use_.source_hash = copy.content.part_hash;
    }
}

void LostOrder::look_at(const trace::Set& set) {
    if (!known(set.allocation))
        return;
    Touch write{.kind = rules::AccessKind::set, .writes = true};
    if (rules::is_one_piece(set.width, set.height, 1, set.pitch)) {
        write.first = set.address;
        write.last = set.address + set.bytes;
        write.made_of = set.value;
    }
    touch(set.allocation, write);
}

/// In a run with one stream, a kernel matters only by what it leaves for the host.
void LostOrder::look_at(const reader::Shape* shape, bool meets_others) {
    if (shape == nullptr || !shape->scanned || shape->untold != 0)
        use_.untold = true;
    if (shape == nullptr)
        return;
    for (std::size_t i = 0; i < shape->touched.size(); ++i)
        if (meets_others || is_on_host(shape->touched[i]))
            touch(shape->touched[i], {.made_of = shape->function,
                                      .kind = rules::AccessKind::kernel,
                                      .writes = written_.may_write(*shape, i)});
}

void LostOrder::look_at(const reader::ThreadCursor& cursor, const facts::Call& call) {
    use_.clear();
    if (const auto* const free = std::get_if<trace::Free>(&cursor.event())) {
        const Memory* const memory = free->status == 0 ? live_.find(free->allocation) : nullptr;
        if (memory == nullptr)
            return;
        use_.freed = free->allocation;
        use_.freed_site = memory->site;
        use_.frees_in_stream = dictionary_.is_stream_ordered(free->entry);
        if (use_.frees_in_stream)
            touch(free->allocation, {.kind = rules::AccessKind::free, .writes = true});
        return;
    }
    if (call.queues != facts::Queues::work)
        return;
    if (const auto* const copy = std::get_if<trace::Copy>(&cursor.event()))
        look_at(*copy);
    else if (const auto* const set = std::get_if<trace::Set>(&cursor.event()))
        look_at(*set);
    else if (std::holds_alternative<trace::Launch>(cursor.event()))
        look_at(cursor.shape(), several_streams() || base_.last(call.stream).number == 0);
    else // a host function uses the host's memory
        use_.untold = std::holds_alternative<trace::GraphLaunch>(cursor.event());
}

void LostOrder::add(const reader::ThreadCursor& cursor, const facts::Call* call) {
    if (base_.unknown())
        return;
    std::visit([this](const auto& record) { observe(record); }, cursor.event());
    if (call == nullptr)
        return;
    if (call->thread >= ends_.size())
        ends_.resize(call->thread + std::size_t{1});
    const bool rested = call->start - ends_[call->thread] >= facts::at_once_ns;
    ends_[call->thread] = call->start + call->duration;
    look_at(cursor, *call);
    facts::Call run = *call;
    if (use_.frees_in_stream)
        run.queues = facts::Queues::work; // what the stream is given next comes behind it
    follow(run, rested);
    if (known(use_.freed))
        live_.erase(use_.freed);
}

/// Most calls are changed by no edit and do nothing to memory that an edit follows.
void LostOrder::follow(const facts::Call& run, bool rested) {
    static const ChangesOf none;
    const ChangesOf& of_call = changes_of(run.site);
    const ChangesOf& of_memory =
        known(use_.freed) ? changes_of({use_.freed_site.stack, use_.freed_site.entry}) : none;
    const bool is_changed = !of_call.empty() || !of_memory.empty();
    const auto changes = [&](std::size_t edit) {
        return Changes{change_in(of_call, edit), change_in(of_memory, edit)};
    };
    if (is_changed || use_.source_hash != 0 || rested)
        for (std::size_t i = 0; i < edited_.size(); ++i)
            edited_[i].before(run, use_, rested, changes(i), base_);
    base_.add(run);
    const bool several = several_streams();
    const auto add_and_agree = [&](std::size_t edit) {
        edited_[edit].add(run, use_, several, changes(edit), base_);
        return !edited_[edit].is_apart();
    };
    sources_told_ |= use_.source_hash != 0;
    const bool uses_memory = use_.seen_by_host || (use_.source != 0 && sources_told_) ||
                             (several && (known(use_.freed) || use_.untold || !use_.touches.empty()));
    if (!is_changed && !uses_memory) {
        std::erase_if(apart_, add_and_agree);
        return;
    }
    apart_.clear();
    for (std::size_t i = 0; i < edited_.size(); ++i)
        if (!add_and_agree(i))
            apart_.push_back(i);
}

void LostOrder::finish() {
    for (EditedOrder& each : edited_)
        if (base_.unknown())
            each.give_up();
        else
            each.finish(base_);
}

} // namespace umadvisor::advice
