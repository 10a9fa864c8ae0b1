#include "analyzer/rules/transfers/work_patterns.hpp"

#include "analyzer/facts/contexts.hpp"
#include "analyzer/facts/direction.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace umadvisor::rules {
namespace {

/// A loop without waits is cut where the next round begins.
constexpr std::uint32_t long_enough = 48;

facts::WorkQueue queue_of(std::uint32_t thread, trace::StreamId stream) {
    return {.stream = stream == facts::other_legacy_stream ? facts::legacy_stream : stream,
            .thread = stream == facts::stream_of_the_thread ? thread : 0};
}

/// Which engine makes the copy; false: not known.
bool engine_of(const trace::Copy& copy, Engine& engine) {
    const bool from_device = copy.source_memory == trace::Memory::device;
    const bool to_device = copy.destination_memory == trace::Memory::device;
    engine = from_device && to_device ? Engine::compute : to_device ? Engine::to_device : Engine::to_host;
    return (from_device && to_device) || (facts::is_host_memory(copy.source_memory) && to_device) ||
           (from_device && facts::is_host_memory(copy.destination_memory));
}

/// Whether the host goes on only when it is done.
bool waits(const trace::Copy& copy, Engine engine) {
    return engine == Engine::to_host &&
           (copy.asynchronous == 0 || copy.destination_memory == trace::Memory::pageable);
}

std::size_t mixed(std::size_t hash, std::uint64_t word) {
    return (hash ^ word) * 0x9e3779b97f4a7c15;
}

} // namespace

std::size_t WorkPatterns::WordsHash::operator()(const Words& words) const {
    std::size_t hash = words.size();
    for (const std::uint32_t word : words)
        hash = mixed(hash, word);
    return hash ^ hash >> 32;
}

std::size_t WorkPatterns::ActionHash::operator()(const WorkAction& action) const {
    std::size_t hash = action.stack.packed();
    for (const std::uint64_t word :
         {action.entry, action.bytes, reinterpret_cast<std::uint64_t>(action.kernel)})
        hash = mixed(hash, word);
    return hash ^ hash >> 32;
}

WorkPatterns::Stretch& WorkPatterns::begin(std::uint32_t thread) {
    if (threads_++ == most_threads) {
        stretches_.clear();
        threads_ = 1;
        forgotten_ = true;
    }
    Stretch& stretch = stretches_[thread];
    stretch.spoiled = forgotten_;
    return stretch;
}

/// nullptr: there are too many.
WorkPatterns::Numbered* WorkPatterns::number(const WorkAction& action) {
    if (actions_.size() == most_actions) {
        const auto found = actions_.find(action);
        return found == actions_.end() ? nullptr : &found->second;
    }
    const auto [found, first] =
        actions_.try_emplace(action, Numbered{static_cast<std::uint32_t>(by_number_.size()), {}});
    if (first)
        by_number_.push_back(&*found);
    return &found->second;
}

void WorkPatterns::busy_with(std::uint32_t thread, trace::StreamId stream) {
    const facts::WorkQueue own = queue_of(thread, stream);
    if (std::ranges::find(busy_, own) == busy_.end())
        busy_.push_back(own);
}

void WorkPatterns::give(Stretch& stretch, std::uint32_t thread, trace::StreamId stream, Given given,
                        std::span<const trace::AllocationId> reached) {
    busy_with(thread, stream);
    // Work of another stream that the host has not waited for runs beside this.
    stretch.spoiled |= busy_.size() != 1 || stretch.given.size() == most_work;
    if (stretch.spoiled)
        return;
    stretch.reached.insert(stretch.reached.end(), reached.begin(), reached.end());
    given.reached = stretch.reached.size();
    stretch.given.push_back(std::move(given));
}

/// A word each: action, count and numbers of what it reaches. None: there are too many actions.
WorkPatterns::Words WorkPatterns::words_of(const Stretch& stretch) {
    Words words;
    std::unordered_map<trace::AllocationId, std::uint32_t> allocations;
    std::size_t reached = 0;
    for (const Given& given : stretch.given) {
        Numbered* const numbered = number(given.action);
        if (numbered == nullptr)
            return {};
        ++numbered->time.count;
        numbered->time.ticks += given.ticks;
        words.push_back(numbered->number);
        words.push_back(static_cast<std::uint32_t>(given.reached - reached));
        for (; reached < given.reached; ++reached)
            words.push_back(
                allocations
                    .try_emplace(stretch.reached[reached], static_cast<std::uint32_t>(allocations.size()))
                    .first->second);
    }
    return words;
}

void WorkPatterns::end_stretch(Stretch& stretch) {
    if (stretch.copies && !stretch.spoiled) {
        const Words words = words_of(stretch);
        if (const auto found = patterns_.find(words); found != patterns_.end())
            ++found->second;
        else if (patterns_.size() < most_patterns && !words.empty())
            patterns_.emplace(words, 1);
    }
    stretch.given.clear();
    stretch.reached.clear();
    stretch.copies = stretch.spoiled = false;
}

void WorkPatterns::add(const Launched& launched) {
    if (launched.is_node())
        return;
    const auto& [launch, shape, group, thread] = launched;
    Stretch& stretch = stretch_of(thread);
    if (launch.status != 0 || shape == nullptr || group == nullptr) {
        stretch.spoiled |= launch.status == 0;
        return;
    }
    stretch.spoiled |= !shape->scanned || shape->untold != 0;
    if (stretch.spoiled)
        busy_with(thread, shape->stream);
    else
        give(stretch, *shape, group, thread);
}

[[gnu::noinline]] void WorkPatterns::give(Stretch& stretch, const reader::Shape& shape,
                                          const tables::Launches::Group* group, std::uint32_t thread) {
    give(stretch, thread, shape.stream,
         {.action = {.engine = Engine::compute, .stack = shape.stack, .entry = shape.entry, .kernel = group}},
         shape.touched);
}

void WorkPatterns::add(const trace::Copy& copy, std::uint32_t thread) {
    if (copy.status != 0 || copy.captured != 0 || copy.origin != trace::Origin::program)
        return;
    Stretch& stretch = stretch_of(thread);
    WorkAction action;
    if (!engine_of(copy, action.engine)) {
        stretch.spoiled = true;
        return;
    }
    if (action.engine == Engine::to_device && stretch.given.size() >= long_enough)
        end_stretch(stretch);
    action.stack = ids::StackId::of(copy);
    action.entry = copy.entry;
    action.bytes = copy.bytes;
    action.source = copy.source_memory;
    action.destination = copy.destination_memory;
    action.asynchronous = copy.asynchronous != 0;
    if (copy.sample != 0)
        if (Numbered* const numbered = number(action))
            samples_.await(copy.sample, [&time = numbered->time](std::uint64_t ns) {
                ++time.measured;
                time.measured_ns += ns;
            });
    std::array<trace::AllocationId, 2> reached{};
    std::size_t count = 0;
    if (action.engine != Engine::to_device)
        reached[count++] = copy.source_allocation;
    if (action.engine != Engine::to_host)
        reached[count++] = copy.destination_allocation;
    stretch.spoiled |= !known(reached[0]) || !known(reached[count - 1]);
    stretch.copies = true;
    give(stretch, thread, copy.stream, {.action = action, .ticks = copy.duration},
         std::span(reached).first(count));
    if (waits(copy, action.engine)) {
        std::erase(busy_, queue_of(thread, copy.stream));
        end_stretch(stretch);
    }
}

void WorkPatterns::add(const trace::Set& set, std::uint32_t thread) {
    if (set.status != 0 || set.captured != 0)
        return;
    Stretch& stretch = stretch_of(thread);
    if (set.memory != trace::Memory::device || !known(set.allocation)) {
        stretch.spoiled = true;
        return;
    }
    WorkAction action;
    action.engine = Engine::compute;
    action.stack = ids::StackId::of(set);
    action.entry = set.entry;
    action.bytes = set.bytes;
    action.destination = set.memory;
    give(stretch, thread, set.stream, {.action = action}, std::span(&set.allocation, 1));
}

void WorkPatterns::add(const trace::Sync& sync, std::uint32_t thread) {
    switch (sync.kind) {
    case trace::SyncKind::context:
        busy_.clear();
        break;
    case trace::SyncKind::stream:
        std::erase(busy_, queue_of(thread, sync.of_stream()));
        break;
    case trace::SyncKind::event:
        break;
    case trace::SyncKind::stream_query:
    case trace::SyncKind::event_query:
        return;
    }
    end_stretch(stretch_of(thread));
}

void WorkPatterns::add(const trace::Stream& stream, std::uint32_t thread) {
    if (stream.status != 0 || stream.captured != 0)
        return;
    if (stream.action == trace::StreamAction::create)
        return;
    if (stream.action == trace::StreamAction::destroy)
        std::erase(busy_, queue_of(thread, stream.stream));
    interrupt(thread);
}

void WorkPatterns::spoil(trace::StreamId stream, std::uint32_t thread) {
    Stretch& stretch = stretch_of(thread);
    stretch.spoiled = true;
    busy_with(thread, stream);
}

void WorkPatterns::interrupt(std::uint32_t thread) {
    Stretch& stretch = stretch_of(thread);
    stretch.spoiled |= !stretch.given.empty();
}

std::vector<WorkPattern> WorkPatterns::patterns() const {
    std::vector<WorkPattern> patterns;
    for (const auto& [words, times] : patterns_) {
        WorkPattern& pattern = patterns.emplace_back();
        pattern.times = times;
        const auto read_list = [](auto& word) {
            const auto first = word + 1;
            word = first + static_cast<std::ptrdiff_t>(*word);
            return std::vector<std::uint32_t>(first, word);
        };
        for (auto word = words.begin(); word != words.end();) {
            Work& work = pattern.work.emplace_back();
            const Actions::value_type* const action = by_number_[*word++];
            work.action = &action->first;
            work.time = &action->second.time;
            work.reaches = read_list(word);
        }
    }
    return patterns;
}

} // namespace umadvisor::rules
