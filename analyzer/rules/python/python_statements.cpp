#include "analyzer/rules/python/python_statements.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

using Kind = PythonSite::Kind;

/// Calls that follow each other sooner are parts of one operation.
constexpr double least_between_ns = 2000;
/// An operation of a framework in eager mode takes so much beside its call, at the least where no two of a line
/// show it, and at the most.
constexpr double least_usual_ns = 5000, most_usual_ns = 40'000;
constexpr std::uint64_t few_bytes = 4096;
constexpr std::uint64_t least_uploads = 100;
constexpr double most_same = 0.9;

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

} // namespace

std::pair<std::uint64_t, int> SameStatement::place_of(std::uint64_t stack) {
    const auto joined = dictionary_.frames.find(stack);
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
    const std::uint64_t line = line_of_(copy.site.stack);
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
