/// The rank of a process in a job, and file names that have it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace umadvisor::trace {

/// The rank that the launcher has put into the environment, at most 64 bytes; empty where there is none. Points
/// into the environment.
inline std::string_view launch_rank() noexcept {
    // torchrun; Open MPI; MPICH and those made of it; Slurm; Kubernetes, of indexed jobs and job sets.
    for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
                             "SLURM_PROCID", "JOB_COMPLETION_INDEX"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
            return {value, std::min<std::size_t>(std::string_view(value).size(), 64)};
    return {};
}

/// Where the suffix of a file's name begins; its end without one.
constexpr std::size_t suffix_of(std::string_view name) noexcept {
    const std::size_t slash = name.rfind('/'), dot = name.rfind('.');
    return dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash) ? name.size()
                                                                                             : dot;
}

/// Whether `rank` has to stand before the suffix of `output`, so that the ranks of a job, which are given the
/// same output, do not write to one file. Not where the output ends in it already: rank3.umtrace, trace.3.
constexpr bool needs_rank(std::string_view output, std::string_view rank) noexcept {
    constexpr auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (output.empty() || rank.empty() || !std::all_of(rank.begin(), rank.end(), is_digit))
        return false;
    const auto ends_in_rank = [&](std::string_view name) {
        return name.ends_with(rank) &&
               (name.size() == rank.size() || !is_digit(name[name.size() - rank.size() - 1]));
    };
    return !ends_in_rank(output) && !ends_in_rank({output.data(), suffix_of(output)});
}

} // namespace umadvisor::trace
