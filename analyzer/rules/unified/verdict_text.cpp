#include "analyzer/rules/unified/verdict_text.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::rules {

using managed::VerdictKind;

namespace {

/// The C library's: memcpy, and the system calls that fill memory.
bool in_copy_routine(const reader::Dictionary& dictionary, std::uint64_t frame) {
    const auto found = dictionary.frames.find(frame);
    if (found == dictionary.frames.end())
        return false;
    const auto module = dictionary.modules.find(found->second.module);
    if (module == dictionary.modules.end())
        return false;
    const std::string_view path = module->second.path;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    constexpr std::array<std::string_view, 4> libraries{"libc.", "libc-", "ld-", "libstdc++."};
    return std::ranges::any_of(libraries,
                               [file](std::string_view library) { return file.starts_with(library); });
}

} // namespace

std::string verdict_text(VerdictKind kind, const managed::VerdictTotals& totals) {
    const std::string bytes = bytes_text(totals.bytes), times = count_text(totals.times, "time");
    const bool faults = !totals.host_codes.empty(); // else it is known from residency samples
    switch (kind) {
    case VerdictKind::thrashing:
        return "its pages bounce between host and device within the driver's thrashing window: " +
               count_text(totals.times, "thrashing event");
    case VerdictKind::false_sharing:
        return fmt::format("the host {} only one location, and {} migrated back and forth for it, {}",
                           faults ? "writes to" : "uses", bytes, times);
    case VerdictKind::read_only_bouncing:
        return fmt::format("migrated to the host {} by page faults, {} in all, although nothing had changed it",
                           times, bytes);
    case VerdictKind::ping_pong:
        return fmt::format("migrated to the host and back {} by page faults, {} in all", times, bytes);
    case VerdictKind::first_touch:
        return fmt::format("page faults of kernels brought in {} that the host had initialised", bytes);
    case VerdictKind::host_populate:
        return faults ? "the host's own code initialised it, and only kernels used it after that"
                      : "the host initialised it with values that a kernel can compute, and only kernels used "
                        "it after that";
    case VerdictKind::read_back:
        return fmt::format("the host page-faulted back {} of what kernels had written, {}", bytes, times);
    case VerdictKind::remote_access:
        return "kernels accessed it across the link, by " + count_text(totals.times, "launch");
    case VerdictKind::oversubscribed:
        return bytes + " was evicted from the device and migrated back";
    case VerdictKind::prefetch_ping_pong:
        return fmt::format("{} a prefetch moved it back before anything had used it where the previous "
                           "prefetch had put it, {} in all",
                           times, bytes);
    case VerdictKind::late_prefetch:
        return fmt::format("a prefetch of {} began when kernels were already page-faulting it in", bytes);
    case VerdictKind::redundant_prefetch:
        return fmt::format("{} of memory that was already resident, {} requested in all",
                           count_text(totals.times, "prefetch"), bytes);
    case VerdictKind::unused_prefetch:
        return fmt::format("prefetched to the device and moved away unused {}, {} in all", times, bytes);
    }
    return std::string(managed::title(kind));
}

bool holds(const Profile& profile, VerdictKind kind, const managed::VerdictTotals& totals) {
    return kind != VerdictKind::host_populate ||
           std::ranges::none_of(totals.host_codes, [&profile](std::uint64_t code) {
               return in_copy_routine(profile.dictionary(), code);
           });
}

} // namespace umadvisor::rules
