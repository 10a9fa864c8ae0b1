/// Calls of the program that failed, by where they were made and what went wrong.
#pragma once

#include "analyzer/model/waits.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::model {

struct FailureSite {
    CallSite site;
    std::uint64_t status = 0; ///< CUresult, as in the record
    auto operator<=>(const FailureSite&) const = default;
};

struct FailedTotals {
    std::uint64_t count = 0;
    std::uint64_t first = 0; ///< ticks
};

/// Answers of queries and what fails because the process ends are no failures; an allocation for which there is
/// no memory is AllocationFailures'. After an error that ends the context (CUDA Driver API, CUresult: "the
/// process must be terminated and relaunched") all that fails fails by it. Memory: one entry a site and status.
class FailedCalls {
public:
    void add(const CallSite& site, std::uint64_t status, std::uint64_t start);

    const std::map<FailureSite, FailedTotals>& sites() const { return sites_; }
    /// The first call that met the end of its context, and how many failed behind it; nullptr: none did.
    const FailureSite* fatal() const { return fatal_.status == 0 ? nullptr : &fatal_; }
    std::uint64_t after_fatal() const { return after_fatal_; }

private:
    std::map<FailureSite, FailedTotals> sites_; ///< before the context ended
    FailureSite fatal_;
    std::uint64_t after_fatal_ = 0;
};

} // namespace umadvisor::model
