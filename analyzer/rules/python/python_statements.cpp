#include "analyzer/rules/python/python_statements.hpp"

#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

using Kind = PythonSite::Kind;

/// Calls with less time between them are parts of one operation.
constexpr double least_between_ns = 2000;
/// What an operation of a framework in eager mode takes beside its call: the value where no two calls of a line
/// show it, and the upper bound.
constexpr double least_usual_ns = 5000, most_usual_ns = 40'000;
constexpr std::uint64_t few_bytes = 4096;
constexpr std::uint64_t least_uploads = 100;
constexpr double most_same = 0.9;
constexpr std::uint64_t batch_bytes = 1 << 20; ///< smaller uploads are no batches
/// A copy on the host has a rate between these: time that does not fit is no copy.
constexpr double most_copy_bytes_per_s = 150e9, least_copy_bytes_per_s = 1e9;
/// A framework's own work between two copies of a line takes less than this.
constexpr double least_fill_ns = 100'000;
constexpr std::uint64_t element_bytes = 16, least_elements = 100;
/// An array of fewer elements is not worth a change of the loop.
constexpr double least_of_array = 4;
/// A loop has as many uploads as reads, but their numbers may differ by this share of the reads.
constexpr double most_other_rounds = 0.2;

struct Weighed {
    double ns = 0;
    std::uint64_t count = 0;
};

double median_of(std::vector<Weighed> all) {
    std::ranges::sort(all, {}, &Weighed::ns);
    std::uint64_t count = 0, before = 0;
    for (const Weighed& each : all)
        count += each.count;
    for (const Weighed& each : all)
        if (2 * (before += each.count) >= count)
            return each.ns;
    return 0;
}

double median_ns(const Profile& profile, const facts::Distribution& gap) {
    return static_cast<double>(profile.estimated_nanoseconds(gap.median()));
}

/// A loop that reads an array's elements one by one, and uploads something for each.
struct ElementLoop {
    std::uint64_t count = 0, groups = 0, bytes = 0, function = 0;
    symbols::PythonFramework framework{};
    StatementTime read, uploads;
    double between_ns = 0; ///< the rest of the loop's time before its uploads, in which it makes them
    EditedCalls calls;
    std::map<ids::StackId, ids::StackId> uploaded_at; ///< stacks, by line
};

const char* read_all(symbols::PythonFramework framework) {
    switch (framework) {
    case symbols::PythonFramework::torch:
        return ", with x.tolist()";
    case symbols::PythonFramework::cupy:
        return ", with x.get()";
    case symbols::PythonFramework::jax:
        return ", with jax.device_get(x)";
    case symbols::PythonFramework::numba:
        return ", with x.copy_to_host()";
    case symbols::PythonFramework::none:
        break;
    }
    return "";
}

/// What one read and one upload for each group spare of the loop's statements. Reads without uploads between
/// them are UMA-103's.
std::optional<Finding> describe_loop(const Profile& profile, ids::StackId, const ElementLoop& loop) {
    if (loop.uploads.calls == 0)
        return std::nullopt;
    const auto count = static_cast<double>(loop.count);
    const double spared = 1 - static_cast<double>(loop.groups) / count;
    const double least_ns = (loop.read.sum_ns() + loop.uploads.sum_ns()) * spared;
    const double ns = least_ns + loop.between_ns * spared;
    const auto code = profile.dictionary().python_codes.find(loop.function);
    const std::string function = code == profile.dictionary().python_codes.end()
                                     ? std::string("a function")
                                     : fmt::format("{}()", code->second.function);
    Finding finding;
    finding.title = "the elements of an array are read one by one";
    finding.summary =
        fmt::format("{} reads {} one by one, in {}, and waits for each; per element {} to read it, {} to "
                    "upload what follows from it and up to {} to compute that",
                    function, count_text(loop.count, "element"), count_text(loop.groups, "group"),
                    time_text(loop.read.sum_ns() / count), time_text(loop.uploads.sum_ns() / count),
                    time_text(loop.between_ns / count));
    finding.evidence = {{"elements", count},
                        {"groups", static_cast<double>(loop.groups)},
                        {"bytes", static_cast<double>(loop.bytes)},
                        {"uploads", static_cast<double>(loop.uploads.calls)},
                        {"call_ns", loop.read.call_ns + loop.uploads.call_ns},
                        {"statement_ns", ns}};
    for (const auto& [line, stack] : loop.uploaded_at)
        finding.places.emplace_back("uploaded here for each", stack);
    finding.advice = fmt::format(
        "compute on the device what the loop computes for each element, with operations on the whole array. If "
        "the host needs the values, read all of them before the loop{}, and upload all results together",
        read_all(loop.framework));
    finding.statement_ns = finding.saving_ns = ns;
    finding.edit = loop.calls.gone(profile);
    finding.basis = "the calls of these lines, their waits, and before each the time that this program needs "
                    "between two calls of one line, as gained in a replay of the run without them; one for "
                    "each group stays. The upper end also includes all of the host's time between a read and "
                    "its upload, which the device then computes";
    finding.confidence = Confidence::medium;
    if (loop.between_ns > loop.read.sum_ns() + loop.uploads.sum_ns()) {
        finding.confidence = Confidence::low;
        finding.saving_at_least_ns = least_ns;
        finding.saving_at_most_ns = ns;
    }
    return finding;
}

} // namespace

std::pair<std::uint64_t, int> SameStatement::place_of(ids::StackId stack) {
    const auto joined = dictionary_.frames.find(stack.number());
    if (joined == dictionary_.frames.end())
        return {};
    const auto frame = dictionary_.python_frames.find(joined->second.python);
    if (frame == dictionary_.python_frames.end())
        return {};
    return {frame->second.code, lines_.of(frame->second).line};
}

PythonStatements::PythonStatements(const Profile& profile, const LineOf& line_of)
    : profile_(profile), line_of_(line_of) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    std::vector<Weighed> between;
    SameStatement same_statement(profile.dictionary());
    for (const auto& [step, gap] : profile.counted<Statements>().steps()) {
        const double ns = median_ns(profile, gap);
        if (step.first < step.second && ns >= least_between_ns &&
            same_statement(sites[step.first].site.stack, sites[step.second].site.stack))
            between.push_back({ns, gap.count()});
    }
    usual_ns_ =
        between.empty() ? least_usual_ns : std::clamp(median_of(between), least_between_ns, most_usual_ns);
}

StatementTime PythonStatements::of_copy(const PythonSite& copy, EditedCalls& edited, double share) const {
    const std::vector<PythonSite>& sites = profile_.counted<Statements>().sites();
    const auto number = static_cast<std::uint32_t>(&copy - sites.data());
    const ids::StackId line = line_of_(copy.site.stack);
    const auto part = [share](std::uint64_t count) {
        return static_cast<std::uint64_t>(share * static_cast<double>(count));
    };
    StatementTime time;
    time.calls = copy.count;
    time.call_ns = static_cast<double>(profile_.nanoseconds(copy.ticks));
    for (const auto& [step, gap] : profile_.counted<Statements>().steps()) {
        const double ns = std::min(median_ns(profile_, gap), usual_ns_) * static_cast<double>(gap.count());
        if (step.second == number)
            time.before_ns += ns;
        if (step.first != number || sites[step.second].kind != Kind::wait ||
            line_of_(sites[step.second].site.stack) != line)
            continue;
        const PythonSite& wait = sites[step.second];
        const double behind = static_cast<double>(gap.count()) / static_cast<double>(wait.count);
        time.wait_ns += ns + behind * static_cast<double>(profile_.nanoseconds(wait.ticks));
        edited.add(wait.site, part(gap.count()), wait.count);
        edited.add_time_before(wait.site, share * ns);
    }
    edited.add(copy.site, part(copy.count), copy.count);
    edited.add_time_before(copy.site, share * time.before_ns);
    return time;
}

double PythonStatements::rest_before(const PythonSite& copy, SameStatement& place) const {
    const std::vector<PythonSite>& sites = profile_.counted<Statements>().sites();
    const auto number = static_cast<std::uint32_t>(&copy - sites.data());
    const std::uint64_t function = place.function_of(copy.site.stack);
    double ns = 0;
    for (const auto& [step, gap] : profile_.counted<Statements>().steps())
        if (step.second == number && place.function_of(sites[step.first].site.stack) == function)
            ns += std::max(0.0, median_ns(profile_, gap) - usual_ns_) * static_cast<double>(gap.count());
    return ns;
}

std::map<ids::CallSite, Fills> fills_before_uploads(const Profile& profile) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    std::map<ids::CallSite, Fills> fills;
    SameStatement same_statement(profile.dictionary());
    for (const auto& [step, gap] : profile.counted<Statements>().steps()) {
        const PythonSite& copy = sites[step.second];
        if (copy.kind != Kind::upload || !copy.pinned || copy.bytes < batch_bytes * copy.count ||
            !same_statement(copy.site.stack, sites[step.first].site.stack))
            continue;
        const double ns = static_cast<double>(profile.estimated_nanoseconds(gap.mean()));
        const double speed = static_cast<double>(copy.bytes) / static_cast<double>(copy.count) / ns * 1e9;
        if (ns < least_fill_ns || speed < least_copy_bytes_per_s || speed > most_copy_bytes_per_s)
            continue;
        Fills& of_site = fills[copy.site];
        of_site.count += gap.count();
        of_site.ns += ns * static_cast<double>(gap.count());
    }
    return fills;
}

bool reads_elements(const PythonSite& site) {
    return site.kind == Kind::download && site.count >= least_elements && site.most_bytes <= element_bytes &&
           static_cast<double>(site.count) >= least_of_array * static_cast<double>(site.count - site.advances);
}

std::vector<Finding> element_loops(const Profile& profile, const LineOf& line_of,
                                   const PythonStatements& statements) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    std::map<ids::StackId, ElementLoop> loops;
    SameStatement place(profile.dictionary());
    for (const PythonSite& read : sites) {
        const std::uint64_t function = reads_elements(read) ? place.function_of(read.site.stack) : 0;
        if (function == 0)
            continue;
        ElementLoop& loop = loops[line_of(read.site.stack)];
        const double spared = static_cast<double>(read.advances) / static_cast<double>(read.count);
        loop.count += read.count;
        loop.groups += read.count - read.advances;
        loop.bytes += read.bytes;
        loop.function = function;
        loop.framework = innermost_framework(profile.dictionary(), read.site.stack);
        loop.read.add(statements.of_copy(read, loop.calls, spared));
        for (const PythonSite& upload : sites) {
            const double others = std::abs(static_cast<double>(upload.count) - static_cast<double>(read.count));
            if (upload.kind != Kind::upload || !upload.pageable || upload.most_bytes > few_bytes ||
                others > most_other_rounds * static_cast<double>(read.count) ||
                place.function_of(upload.site.stack) != function)
                continue;
            loop.uploads.add(statements.of_copy(upload, loop.calls, spared));
            const double between_ns = statements.rest_before(upload, place);
            loop.between_ns += between_ns;
            loop.calls.add_time_before(upload.site, spared * between_ns);
            loop.uploaded_at.emplace(line_of(upload.site.stack), upload.site.stack);
        }
    }
    return judge_lines(uma_116, profile, loops, describe_loop);
}

bool is_constant_upload(const PythonSite& site) {
    return site.kind == Kind::upload && site.pageable && site.most_bytes <= few_bytes &&
           site.content.looked >= least_uploads && 2 * site.last_repeated >= site.count &&
           static_cast<double>(site.content.repeated) >= most_same * static_cast<double>(site.content.looked);
}

bool waits_for_constant_upload(const Profile& profile, const ids::CallSite& wait) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    const PythonSite* const site = profile.counted<Statements>().find(wait);
    if (site == nullptr)
        return false;
    const auto number = static_cast<std::uint32_t>(site - sites.data());
    std::uint64_t behind = 0;
    for (const auto& [step, gap] : profile.counted<Statements>().steps())
        if (step.second == number && is_constant_upload(sites[step.first]))
            behind += gap.count();
    return 2 * behind > site->count;
}

} // namespace umadvisor::rules
