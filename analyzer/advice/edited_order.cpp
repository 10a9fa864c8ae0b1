#include "analyzer/advice/edited_order.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::advice {
namespace {

/// Two launches of one kernel have parts of their own.
bool do_meet(const Touch& earlier, const Touch& later) {
    if (later.kind == rules::AccessKind::free)
        return true;
    const bool same = earlier.writes && later.writes && earlier.kind == later.kind;
    return (earlier.writes || later.writes) && !(same && earlier.made_of == later.made_of) &&
           earlier.first < later.last && later.first < earlier.last;
}

} // namespace

EditedOrder::EditedOrder(OrderEdit edit) : edit_(std::move(edit)) {
    for (const auto& [site, change] : edit_)
        own_stream_ |= change.what == OrderChange::What::own_stream;
    apart_from_run_ = own_stream_; // its streams have other numbers
}

/// True if, after this call, the edited run may have another order than the run has.
bool EditedOrder::takes_order(const facts::Call& call, const MemoryUse& done, const Changes& changes) const {
    const auto is_change = [](const OrderChange* change) {
        return change != nullptr && change->what != OrderChange::What::kept;
    };
    if (known(done.freed) && !done.frees_in_stream)
        return is_change(changes.call) || changes.memory != nullptr;
    return is_change(changes.call) &&
           (call.waits != facts::Waits::nothing || call.found_done != facts::Waits::nothing ||
            (changes.call->what == OrderChange::What::gone && call.queues != facts::Queues::nothing));
}

/// Before the run's order has seen the call that the edit changes.
void EditedOrder::part(const facts::StreamOrder& base) {
    apart_from_run_ = true;
    order_ = base;
    steps_ = 0;
    look_ = order_.size() / 8; // comparing the orders takes longer than following a call
}

/// `call`: what the edit leaves of it.
void EditedOrder::order_call(const facts::Call& run, const facts::Call& call, const facts::StreamOrder& base) {
    if (!apart_from_run_)
        return;
    order_.add(call);
    if (own_stream_)
        return;
    if (run.queues == facts::Queues::work && call.queues != facts::Queues::work)
        order_.leave_out(run.stream);
    constexpr std::size_t most_steps = 4096;
    if (++steps_ < look_ || run.waits == facts::Waits::nothing)
        return;
    apart_from_run_ = !order_.agrees(base);
    look_ = steps_ + std::min(steps_, most_steps);
}

/// If work gets a stream of its own, that stream has the number 0, and the numbers of all others grow by one.
facts::Call EditedOrder::edited(facts::Call call, const OrderChange* change) const {
    if (own_stream_)
        ++call.stream.number;
    if (change == nullptr || change->what == OrderChange::What::kept)
        return call;
    if (change->what == OrderChange::What::own_stream) {
        call.stream = {.number = 0, .device = call.stream.device, .legacy = false, .blocking = false};
        return call;
    }
    call.waits = call.found_done = facts::Waits::nothing;
    if (change->what == OrderChange::What::gone)
        call.queues = facts::Queues::nothing;
    return call;
}

void EditedOrder::note(const ids::CallSite& first, const ids::CallSite& second) {
    const LostPair pair{first, second};
    if (pairs_.size() < most_pairs || pairs_.contains(pair))
        ++pairs_[pair];
}

bool EditedOrder::is_lost(const Moments& earlier, const facts::StreamPlace& run,
                          const facts::StreamPlace& edited, const facts::StreamOrder& base) const {
    return !order(base).before(earlier.edited, edited) && base.before(earlier.base, run);
}

/// The host looks at all that it knows to be done.
void EditedOrder::look(const facts::StreamOrder& base) {
    const facts::StreamOrder& order = this->order(base);
    std::erase_if(results_, [&](const Piece& result) {
        if (order.is_awaited(result.moments.edited))
            return true;
        if (!base.is_awaited(result.moments.base))
            return false;
        note(result.site, {});
        return true;
    });
}

void EditedOrder::finish(const facts::StreamOrder& base) {
    look(base);
    for (const LostPair& pair : apart_)
        pairs_.erase(pair);
}

void EditedOrder::before(const facts::Call& call, const MemoryUse& done, bool rested, const Changes& changes,
                         const facts::StreamOrder& base) {
    if (!apart_from_run_ && takes_order(call, done, changes))
        part(base);
    if (rested && !results_.empty())
        look(base);
    if (done.source_hash == 0)
        return;
    const Source* const source = sources_.find(done.source);
    if (source != nullptr && source->bytes == done.source_bytes && source->hash != done.source_hash &&
        (source->read_at_once || base.is_awaited(source->piece.moments.base)) &&
        !order(base).is_awaited(source->piece.moments.edited))
        note(source->piece.site, {});
    if (is_left_out(changes.call))
        sources_.erase(done.source);
}

void EditedOrder::allocated(trace::AllocationId allocation, const ids::AllocationSite& site) {
    uses_.erase(allocation);
    const auto kept = kept_.find(site);
    if (kept == kept_.end() || kept->second.empty())
        return;
    uses_[allocation] = std::move(kept->second.back());
    kept->second.pop_back();
    for (Use& use : uses_[allocation]) {
        use.touch.allocation = allocation;
        use.touch.made_of = UINT64_MAX; // no work of this round is like that of another
    }
}

/// A free that waits for the device, with the edit or without.
void EditedOrder::free(const facts::Call& call, const MemoryUse& done, const Changes& changes,
                       const facts::StreamOrder& base) {
    const OrderChange* const of_memory = changes.memory;
    const OrderChange* const change = changes.call;
    std::vector<Use>* const uses = uses_.find(done.freed);
    facts::Call left = edited(call, nullptr);
    if (of_memory != nullptr && of_memory->what == OrderChange::What::kept) {
        left.waits = facts::Waits::nothing;
        std::vector<std::vector<Use>>& of_site = kept_[{done.freed_site.stack, done.freed_site.entry}];
        if (uses != nullptr && of_site.size() < most_kept)
            of_site.push_back(std::move(*uses));
    } else if (change != nullptr && change->what != OrderChange::What::kept &&
               !change->read_later) { // it frees in the order of the stream that used it last
        left.waits = facts::Waits::nothing;
        if (uses != nullptr && change->what == OrderChange::What::asynchronous)
            for (const Use& use : *uses)
                if (!order_.before(use.moments.edited, {.number = uses->back().moments.edited.stream}))
                    note(use.site, call.site);
    }
    order_call(call, left, base);
    uses_.erase(done.freed);
}

/// Keeps the latest two uses of one stream, and the latest for which the run's host waited: later work may be
/// ordered only behind that one.
void EditedOrder::tidy(std::vector<Use>& uses, const Touch& touch, std::uint32_t stream,
                       const facts::StreamOrder& base) const {
    const facts::StreamOrder& order = this->order(base);
    std::size_t awaited = 0, others = 0;
    for (std::size_t i = uses.size(); i-- != 0;) {
        const Use& use = uses[i];
        const bool alike = use.moments.edited.stream == stream && use.touch.kind == touch.kind &&
                           use.touch.writes == touch.writes && use.touch.first == touch.first &&
                           use.touch.last == touch.last;
        std::size_t& count = base.is_awaited(use.moments.base) ? awaited : others;
        if (order.is_awaited(use.moments.edited) || (alike && ++count > 1))
            uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void EditedOrder::use(const Touch& touch, const facts::Call& run, const facts::Call& call,
                      const facts::StreamOrder& base) {
    const facts::StreamOrder& order = this->order(base);
    std::vector<Use>* uses = uses_.find(touch.allocation);
    if (uses == nullptr) {
        if (uses_.size() == most_allocations)
            uses_.clear();
        uses = &uses_[touch.allocation];
    }
    for (Use& earlier : *uses) {
        if (earlier.moments.edited.stream == call.stream.number || earlier.met == call.stream.number + 1 ||
            order.before(earlier.moments.edited, call.stream) || !do_meet(earlier.touch, touch))
            continue;
        const bool kernels =
            earlier.touch.kind == rules::AccessKind::kernel && touch.kind == rules::AccessKind::kernel;
        if (base.before(earlier.moments.base, run.stream)) {
            earlier.met = call.stream.number + 1;
            note(earlier.site, call.site);
        } else if (kernels && apart_.size() < most_pairs) {
            apart_.insert({earlier.site, call.site});
        }
    }
    tidy(*uses, touch, call.stream.number, base);
    if (uses->size() == most_uses)
        uses->erase(uses->begin());
    uses->push_back({touch, call.site, {base.last(run.stream), order.last(call.stream)}});
}

/// Work that may use any memory meets all work of other streams.
void EditedOrder::meet_unknown(const MemoryUse& done, const facts::Call& run, const facts::Call& call,
                               const facts::StreamOrder& base) {
    const std::size_t stream = call.stream.number;
    if (stream >= last_.size()) {
        last_.resize(stream + 1);
        untold_.resize(stream + 1);
    }
    for (const Piece& earlier : done.untold ? last_ : untold_)
        if (earlier.used && earlier.moments.edited.stream != stream &&
            is_lost(earlier.moments, run.stream, call.stream, base))
            note(earlier.site, call.site);
    last_[stream] = {call.site, {base.last(run.stream), order(base).last(call.stream)}, true};
    if (done.untold)
        untold_[stream] = last_[stream];
}

/// Of each call site and stream the first that the host has not waited for stands for those behind it.
void EditedOrder::leave_for_host(const Piece& piece, const facts::StreamOrder& base) {
    const auto known = std::ranges::find_if(results_, [&piece](const Piece& result) {
        return result.site == piece.site && result.moments.edited.stream == piece.moments.edited.stream;
    });
    if (known == results_.end() && results_.size() < most_results)
        results_.push_back(piece);
    else if (known != results_.end() && order(base).is_awaited(known->moments.edited))
        *known = piece;
}

void EditedOrder::add(const facts::Call& run, const MemoryUse& done, bool several_streams,
                      const Changes& changes, const facts::StreamOrder& base) {
    if (known(done.freed) && !done.frees_in_stream)
        return free(run, done, changes, base);
    const OrderChange* const change = changes.call;
    facts::Call changed;
    if (own_stream_ || change != nullptr)
        changed = edited(run, change);
    const facts::Call& call = own_stream_ || change != nullptr ? changed : run;
    order_call(run, call, base);
    if (call.queues != facts::Queues::work)
        return;
    const Piece piece{call.site, {base.last(run.stream), order(base).last(call.stream)}, true};
    // Other work in place of a copy neither reads the host's memory nor brings it anything. What is looked at
    // later needs no wait here.
    const bool replaced = change != nullptr && change->what == OrderChange::What::replaced;
    if (done.seen_by_host && !replaced && (change == nullptr || !change->read_later))
        leave_for_host(piece, base);
    // A staged copy has read its source in the host's memory when it returns, and still does so if the edit
    // leaves it as it is.
    if (replaced || (change == nullptr && run.staged)) {
        sources_.erase(done.source);
    } else if (done.source != 0 && (done.source_hash != 0 || sources_.contains(done.source))) {
        if (sources_.size() == most_sources)
            sources_.clear();
        sources_[done.source] = {piece, done.source_bytes, done.source_hash,
                                 run.staged || run.waits != facts::Waits::nothing};
    }
    if (!several_streams)
        return;
    for (const Touch& touch : done.touches)
        use(touch, run, call, base);
    if (done.untold || !done.touches.empty())
        meet_unknown(done, run, call, base);
    if (known(done.freed))
        uses_.erase(done.freed);
}

} // namespace umadvisor::advice
