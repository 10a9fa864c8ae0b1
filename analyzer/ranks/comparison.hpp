/// What the ranks of a job have in common, and which of them deviate.
#pragma once

#include "analyzer/ranks/summary.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace umadvisor::ranks {

/// Over ranks. Ranks are numbers into Comparison::ranks().
struct Spread {
    double least = 0, median = 0, most = 0, sum = 0;
    std::size_t least_rank = 0, most_rank = 0;
    std::size_t count = 0; ///< ranks that have it
};

/// A rank does more of something than the others, or has a slower link.
struct Deviation {
    std::size_t rank = 0;
    Quantity quantity{};
    double value = 0, others = 0; ///< others: their median
};

/// Where a rank does more of something: a line of the program whose calls do, or for its own code a step. Both
/// have at least half of what it does more.
struct DeviationPlace {
    std::string text;
    double value = 0, others = 0; ///< others: their median
};

/// In collectives all ranks wait for the one that arrives last.
struct Waiting {
    std::size_t for_rank = 0;
    double median_ns = 0, most_ns = 0; ///< that the others spent in collectives beyond what that rank did
    std::size_t most_rank = 0;
};

struct SharedStep {
    std::string name, domain;
    Spread median_ns;        ///< of the ranks' medians
    std::uint64_t count = 0; ///< most of a rank
};

struct SharedFinding {
    std::string rule, title, line, confidence;
    Spread ns;
    std::uint64_t bytes = 0; ///< in all
    bool unpriced = false;   ///< no rank knows what it saves

    bool is_urgent() const { return ns.sum == 0 && bytes == 0 && !unpriced; } ///< mend it whatever it costs
};

/// Made of summaries one by one, none of which is kept: memory is a few hundred bytes a rank and each of its
/// findings and steps.
class Comparison {
public:
    struct Rank {
        std::string who, host, device, trace;
        std::uint64_t pid = 0, node = 0;
        bool complete = true;
        Quantities measured{};
    };

    void add(const Summary& summary);

    const std::vector<Rank>& ranks() const { return ranks_; }
    const std::string& program() const { return program_; } ///< of the first rank
    std::size_t hosts() const { return hosts_.size(); }
    std::size_t left_out() const { return left_out_; } ///< processes without a CUDA call
    std::size_t unknown() const { return unknown_; }   ///< whose traces are damaged, with no call left

    Spread spread(Quantity quantity) const;
    /// The largest first. Times: more than the others by a share of their run. Rates: slower than the others.
    std::vector<Deviation> deviations() const;
    /// By deviation, where it is known.
    std::vector<std::optional<DeviationPlace>> places(const std::vector<Deviation>& deviations) const;
    /// Nothing: there are no collectives, or no rank waits long in them.
    std::optional<Waiting> waiting() const;
    /// By total time, the longest first: of names that at least two ranks have, or the only one.
    std::vector<SharedStep> steps() const;
    /// Urgent findings first, then by the sum of what they save, the largest first.
    std::vector<SharedFinding> findings() const;

private:
    using Values = std::vector<std::pair<std::size_t, double>>; ///< by rank
    struct StepValues {
        Values medians;
        double total_ns = 0;
        std::uint64_t count = 0;
    };
    struct LineValues {
        Values ns, bytes;
    };
    struct FindingValues {
        Values ns;
        std::uint64_t bytes = 0;
        bool unpriced = true;
        std::string confidence;
    };

    static Spread spread(const Values& values);
    std::vector<double> measured(Quantity quantity) const; ///< by rank

    std::vector<Rank> ranks_;
    std::set<std::string> hosts_;
    std::string program_;
    std::size_t left_out_ = 0, unknown_ = 0;
    std::map<std::string, std::size_t> named_;                        ///< the first rank that is called so
    std::map<std::pair<std::string, std::string>, StepValues> steps_; ///< by domain and name
    std::map<std::pair<std::string, std::string>, Values> step_ns_;   ///< in all, by domain and name
    std::map<std::string, LineValues> lines_;                         ///< by text
    std::map<std::tuple<std::string, std::string, std::string>, FindingValues> findings_; ///< rule, line, title
};

} // namespace umadvisor::ranks
