#include "analyzer/managed/verdict.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::managed {
namespace {

struct Names {
    std::string_view name, title;
};
constexpr std::array<Names, verdict_kinds> all_names{{
    {"thrashing", "thrashing"},
    {"false_sharing", "false sharing"},
    {"read_only_bouncing", "read-only bouncing"},
    {"ping_pong", "ping-pong"},
    {"first_touch", "first-touch storm"},
    {"host_populate", "populated on the host, used on the device"},
    {"read_back", "read-back storm"},
    {"remote_access", "remote access"},
    {"oversubscribed", "oversubscribed"},
    {"prefetch_ping_pong", "prefetch ping-pong"},
    {"late_prefetch", "late prefetch"},
    {"redundant_prefetch", "redundant prefetch"},
    {"unused_prefetch", "unused prefetch"},
}};

} // namespace

std::string_view name(VerdictKind kind) {
    return all_names[static_cast<std::size_t>(kind)].name;
}

std::string_view title(VerdictKind kind) {
    return all_names[static_cast<std::size_t>(kind)].title;
}

bool has(const std::vector<Verdict>& found, VerdictKind kind) {
    return std::ranges::find(found, kind, &Verdict::kind) != found.end();
}

std::uint64_t written(const Stay& stay) {
    return stay.write_faults != 0 && stay.write_faults >= stay.faults / 2 ? stay.by_fault : 0;
}

std::vector<Verdict> judge(const Subject& subject) {
    std::vector<Verdict> found;
    judge_prefetches(subject, found);
    judge_turns(subject, found);
    judge_one_way(subject, found);
    judge_placement(subject, found);
    std::ranges::stable_sort(found, {}, &Verdict::kind);
    return found;
}

} // namespace umadvisor::managed
