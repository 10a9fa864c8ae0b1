/// Two programs, or one with and without a change, that run in turn so that times and results can be compared.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/run/run_results.hpp"
#include "analyzer/cli/run/speed_ratio.hpp"
#include "analyzer/cli/run/working_folder.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::cli {

/// Exit statuses from here on, as a shell has them, are of programs that could not be started, or that a signal
/// ended. Lower ones may be a result.
inline constexpr int least_no_result = 126;

/// What one arm of a trial runs.
struct Side {
    std::string program;
    std::vector<std::string> command;
    std::string words{};  ///< that stand beside its times
    std::string folder{}; ///< absolute, where it runs; empty: in the working directory
    /// Repaired runs are what `umadvisor run --act` would make them, recording and all: that is what a user
    /// would run, and its cost counts. Empty: runs are not recorded.
    std::string shim{}, act{};
    /// Called with the file of a run's standard output before that is compared; none: it stays as it is.
    std::function<void(const std::string& file)> clean{};
};

/// The sides and names are by arm.
struct TrialPlan {
    Side sides[2]{};
    ArmNames names{}, result_names{};
    std::string kept_trace{};    ///< of the last recorded run; empty: none is kept
    bool failure_counts = false; ///< an exit status below least_no_result is a result, not an end of the trial
};

/// Runs both sides time after time.
class Trial {
public:
    /// `compared` are files that each run writes, as RunResults has them.
    Trial(TrialPlan plan, const std::vector<std::string>& compared);

    /// So many runs of each, after one of each that does not count. Ends early where a run ends otherwise than
    /// the first one, so that its time says nothing.
    void run_pairs(std::size_t runs);

    const Side& side(Arm arm) const { return plan_.sides[static_cast<int>(arm)]; }
    const char* name(Arm arm) const { return plan_.names[static_cast<int>(arm)]; }
    /// Of the first run; no other follows where it is not 0.
    int first_status() const { return first_status_.value_or(0); }
    /// A recorded run did.
    bool entered_cuda() const { return entered_cuda_; }
    std::size_t runs() const { return runs_; }
    const RunResults& results() const { return results_; }
    /// The times are those of simcuda's clock: each run used it.
    bool simulated() const;
    const std::vector<double>& seconds(Arm arm) const {
        return (simulated() ? simulated_ : seconds_)[static_cast<int>(arm)];
    }
    /// Nothing where a run ended otherwise.
    std::optional<SpeedRatio> ratio() const;

private:
    /// Whether another run may follow.
    bool run(Arm arm, bool warm_up, bool last = false);
    bool remove_traces();

    WorkingFolder folder_{"ab"};
    TrialPlan plan_;
    RunResults results_;
    std::size_t runs_ = 0;
    std::optional<int> first_status_;
    bool entered_cuda_ = false;
    std::vector<double> seconds_[2], simulated_[2]; ///< by arm
};

/// The number of --runs, else the usual one; nothing, and one line on stderr, where it is none.
std::optional<std::size_t> runs_of(const Arguments& arguments);

} // namespace umadvisor::cli
