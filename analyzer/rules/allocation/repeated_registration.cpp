/// Host memory that one line has page-locked and unlocked again and again: each time the driver goes over all
/// of its pages.
#include "analyzer/rules/allocation/churn_lines.hpp"
#include "analyzer/rules/words.hpp"

namespace umadvisor::rules {
namespace {

Finding describe_registration(const Profile& profile, ids::StackId, const ChurnLine& line) {
    const auto pairs = static_cast<double>(line.pairs);
    Finding finding = churn_finding(profile, line, "unlocked here");
    finding.summary =
        fmt::format("{} and {} of {} on average, {} times: {} to lock the pages and {} to unlock them",
                    profile.call_name(line.entry), profile.call_name(line.free_entry),
                    bytes_text(static_cast<double>(line.bytes) / pairs), line.pairs, time_text(line.alloc_ns),
                    time_text(line.free_ns));
    finding.evidence = {{"pairs", pairs},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"peak_live", static_cast<double>(line.peak_live)},
                        {"largest_bytes", static_cast<double>(line.largest_bytes)},
                        {"kept_time_ns", line.kept_ns},
                        {"lock_time_ns", line.alloc_ns},
                        {"unlock_time_ns", line.free_ns},
                        {"mean_lifetime_ns", line.lifetime_ns / pairs}};
    finding.advice =
        "page-lock the memory once, at the largest size, outside the loop or the function that is called again "
        "and "
        "again, and unlock it at the end; keep as many buffers as are in use at once, or copy through a few "
        "page-locked staging buffers that are kept";
    finding.basis = "time of these calls (waits for the device excluded) minus that of one round of the "
                    "largest size, which is still needed";
    return finding;
}

} // namespace

std::vector<Finding> find_repeated_registrations(const Profile& profile, const LineOf& line_of) {
    return judge_lines(uma_407, profile, churn_lines(profile, line_of, {Made::pinned, Made::registered}),
                       describe_registration);
}

constinit const Rule uma_407{.id = "UMA-407",
                             .name = "repeated-registration",
                             .title = "host memory page-locked again and again",
                             .find = &find_repeated_registrations,
                             .same_calls_as = &uma_409,
                             .order = OrderUse::kept_memory};

} // namespace umadvisor::rules
