/// Handles and plans of CUDA's libraries that a line makes and gives up in every round. Each takes memory,
/// streams and events from the driver, and waits when it is given up: all that the library does there is
/// spared.
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/call.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace umadvisor::rules {
namespace {

/// In fewer rounds, each may need a new handle; a smaller share of the run is not worth a change.
constexpr std::uint64_t least_handle_rounds = 3;
constexpr double least_handle_share = 0.01;

/// What a library does for one call of the program.
struct LibraryWork {
    std::string_view library;
    ids::StackId stack{};    ///< of the last call of the driver in it
    std::uint64_t times = 0; ///< in a row without another library call of the program
    double ns = 0;           ///< from the first call of the driver to the end of the last
    EditedCalls calls;       ///< of the driver
    std::uint64_t made = 0;  ///< of `times`, those that left memory behind
    std::uint64_t live = 0, peak_live = 0;
    std::uint64_t rounds = 0;   ///< how often what it left was freed
    ids::StackId frees_of{};    ///< stack of the call whose memory it frees; the last
    ids::StackId given_up_by{}; ///< stack of the call that frees its memory
};

/// Memory: one entry a call of a library, by its stack, one a stack below it, and one a live allocation of
/// libraries.
class LibraryHandles : public Counter {
public:
    explicit LibraryHandles(const Begin& begin) : dictionary_(begin.dictionary) {}

    void add(const WorkCall& work);

    const std::map<ids::StackId, LibraryWork>& by_caller() const { return works_.map(); }

private:
    struct Open {
        ids::StackId caller{}; ///< none: not in a library
        double end = 0;
        bool made = false, freed = false;
    };
    const LibraryCall& call_at(ids::StackId stack);
    void make(LibraryWork& work, Open& open, trace::AllocationId allocation);
    void give_up(LibraryWork& work, Open& open, trace::AllocationId allocation);

    const reader::Dictionary& dictionary_;
    facts::CachedMap<std::map<ids::StackId, LibraryWork>> works_;
    reader::FlatMap<LibraryCall, ids::StackId> stacks_;
    reader::FlatMap<ids::StackId, trace::AllocationId> makers_; ///< by allocation
    facts::PerThread<Open> threads_;
};

const LibraryCall& LibraryHandles::call_at(ids::StackId stack) {
    if (const LibraryCall* const known = stacks_.find(stack))
        return *known;
    return stacks_[stack] = library_call_at(dictionary_, stack);
}

void LibraryHandles::make(LibraryWork& work, Open& open, trace::AllocationId allocation) {
    makers_[allocation] = open.caller;
    if (std::exchange(open.made, true))
        return;
    ++work.made;
    work.peak_live = std::max(work.peak_live, ++work.live);
}

/// What one call both makes and gives up is its workspace, and no handle.
void LibraryHandles::give_up(LibraryWork& work, Open& open, trace::AllocationId allocation) {
    const ids::StackId* const maker = makers_.find(allocation);
    if (maker == nullptr)
        return;
    const ids::StackId made_by = *maker;
    makers_.erase(allocation);
    if (made_by == open.caller || std::exchange(open.freed, true))
        return;
    LibraryWork& of = works_[made_by];
    work.frees_of = made_by;
    of.given_up_by = open.caller;
    ++of.rounds;
    of.live -= of.live != 0;
}

void LibraryHandles::add(const WorkCall& work) {
    const facts::Call& call = work.call;
    Open& open = threads_[call.thread];
    const LibraryCall in = facts::launches(call) ? LibraryCall{} : call_at(call.site.stack);
    if (!in.caller.known()) {
        open = {};
        return;
    }
    LibraryWork& of = works_[in.caller];
    if (open.caller != in.caller) {
        open = {in.caller, call.start};
        of.library = in.memory->library;
        ++of.times;
    }
    const double before_ns = std::max(0.0, call.start - open.end);
    of.stack = call.site.stack;
    of.calls.add(call.site, 1);
    of.calls.add_time_before(call.site, before_ns);
    of.ns += before_ns + call.duration;
    open.end = call.start + call.duration;
    if (const auto* const made = std::get_if<trace::Alloc>(&work.cursor.event()); made && made->status == 0)
        make(of, open, made->allocation);
    else if (const auto* const freed = std::get_if<trace::Free>(&work.cursor.event()))
        give_up(of, open, freed->allocation);
}

/// The handles that one line makes.
struct HandleLine {
    std::set<std::string_view> libraries;
    ids::StackId stack, end_stack;
    std::uint64_t rounds = 0, peak_live = 0;
    double make_ns = 0, end_ns = 0, kept_ns = 0;
    EditedCalls calls;

    void add(const LibraryWork& made, const LibraryWork& ended) {
        libraries.insert(made.library);
        stack = made.stack;
        end_stack = ended.stack;
        rounds += made.rounds;
        peak_live += made.peak_live;
        make_ns += made.ns;
        end_ns += ended.ns;
        kept_ns += (made.ns + ended.ns) * static_cast<double>(made.peak_live) / static_cast<double>(made.made);
        calls.add(made.calls);
        calls.add(ended.calls);
    }
};

std::optional<Finding> describe_handles(const Profile& profile, ids::StackId, const HandleLine& line) {
    const double saving_ns = line.make_ns + line.end_ns - line.kept_ns;
    if (line.rounds < least_handle_rounds * line.peak_live ||
        saving_ns < least_handle_share * static_cast<double>(profile.net_ns()))
        return std::nullopt;
    std::string libraries;
    for (const std::string_view each : line.libraries)
        libraries += (libraries.empty() ? "" : ", ") + std::string(each);
    return Finding{
        .summary = fmt::format("a handle or plan of {} is created and destroyed {} times: {} to create them "
                               "and {} to destroy them, memory, events and waits included",
                               libraries, line.rounds, time_text(line.make_ns), time_text(line.end_ns)),
        .evidence = {{"rounds", static_cast<double>(line.rounds)},
                     {"peak_live", static_cast<double>(line.peak_live)},
                     {"make_time_ns", line.make_ns},
                     {"end_time_ns", line.end_ns}},
        .library_stack = line.stack,
        .places = {{"destroyed here", line.end_stack}},
        .advice = "create the handle or plan once for each device and thread, before the loop, and "
                  "keep it; call the library's SetStream where the stream changes",
        .saving_ns = saving_ns,
        .edit = line.calls.gone(profile, line.kept_ns),
        .basis = "time from the first to the last driver call of each creation and destruction, minus that of "
                 "one round, "
                 "which is still needed",
        .confidence = Confidence::high};
}

std::vector<Finding> find_library_handles(const Profile& profile, const LineOf& line_of) {
    const std::map<ids::StackId, LibraryWork>& works = profile.counted<LibraryHandles>().by_caller();
    std::map<ids::StackId, HandleLine> lines;
    for (const auto& [caller, made] : works)
        if (const auto ended = works.find(made.given_up_by);
            made.rounds != 0 && ended != works.end() && ended->second.frees_of == caller)
            lines[line_of(made.stack)].add(made, ended->second);
    return judge_lines(uma_418, profile, lines, describe_handles);
}

} // namespace

constinit const Rule uma_418{.id = "UMA-418",
                             .name = "library-handle",
                             .title = "a library's handle or plan created in each round",
                             .find = &find_library_handles,
                             .counter = &count<LibraryHandles>,
                             .order = OrderUse::kept_memory};

} // namespace umadvisor::rules
