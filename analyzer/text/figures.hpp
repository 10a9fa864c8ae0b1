/// Numbers as sentences have them, and fmt, which puts them there.
#pragma once

#include <concepts>
#include <cstdint>
#include <fmt/core.h>
#include <string>
#include <string_view>

namespace umadvisor::text {

std::string bytes_text(double bytes);           ///< "256 MiB"
std::string time_text(double nanoseconds);      ///< "1.0 s", "25 ms", "3.1 us"
std::string percent_text(double share);         ///< "1.8%" of 0.018
std::string rate_text(double bytes_per_second); ///< "10.3 GB/s"
std::string bytes_text(std::integral auto bytes) {
    return bytes_text(static_cast<double>(bytes));
}
std::string time_text(std::integral auto nanoseconds) {
    return time_text(static_cast<double>(nanoseconds));
}
/// What stands before a saving: "saves about "; empty where a finding is to be mended whatever it costs.
std::string_view saving_lead(double nanoseconds, std::uint64_t bytes);
/// What a finding saves: "25 ms", "64 MiB of memory", or both; time of `whole_ns` where that is not 0.
std::string saving_text(double nanoseconds, std::uint64_t bytes, double whole_ns = 0);
/// Both as a sentence without its full stop: "Saves about 3.96 ms".
std::string saving_sentence(double nanoseconds, std::uint64_t bytes);
/// A saving that the recorded calls leave open: "2 ms to 5 ms"; "up to 5 ms" where it may be nothing, and its
/// lower end alone, "at least 2 ms", where the upper end is more than three times as large.
std::string open_saving_text(double least_ns, double most_ns);
/// Reports print it in the place of a saving that is not known.
inline constexpr std::string_view saving_unknown = "saving not known";
std::string count_text(std::uint64_t count, std::string_view noun); ///< "3 copies"

} // namespace umadvisor::text
