/// What a rule reports of a line.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/rule.hpp"
#include "analyzer/timeline/edit.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/core.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// A saving below this total is not worth a change of the program.
inline constexpr double least_saving_ns = 100'000;
/// The same, as a share of the run without the time of making contexts.
inline constexpr double least_saving_of_run = 0.001;
/// The driver allocates in units of 2 MiB, so less is no gain; nor is a percent of the program's peak.
inline constexpr std::uint64_t least_saving_bytes = 1024 * 1024;
inline constexpr double least_saving_share = 0.01;

/// Where a replay is further off than this share of the run, savings that are based on it have low confidence.
inline constexpr double most_replay_error = 0.1;

/// What the edit of a finding does to the order of the run's work.
enum class Order : std::uint8_t {
    untouched, ///< nothing, as the edit alone shows
    unknown,   ///< calls do not show the order of this run
    kept,      ///< nothing, by a replay
    named,     ///< it takes away an order that is needed, and the remedy says what keeps it
};

enum class Confidence : std::uint8_t { low, medium, high };
std::string_view name(Confidence confidence);
std::string_view name(Order order);
/// Nothing: none is called so.
std::optional<Confidence> confidence_called(std::string_view text);

/// How a remedy changes a line of the program. A rework cannot be done at a single line, so words describe it.
enum class EditKind : std::uint8_t { rework, remove, insert_before, insert_after };
std::string_view name(EditKind kind);

/// One part of a remedy, at one line. Where the trace does not have a name, `ptr`, `bytes`, `device` and
/// `stream` stand for the program's own.
struct CodeEdit {
    EditKind kind{};
    std::string text;     ///< code to insert; what is removed; or the words
    ids::StackId stack{}; ///< of the line; 0: none is known
};

/// What the run did in order and the edited run would not.
struct OrderLoss {
    ids::StackId first{}, second{}; ///< stacks; second: 0 of the host's own use
    std::uint64_t times = 0;
    bool by_host = false; ///< the host reads or changes what the first works on
};

struct Finding {
    const Rule* rule = nullptr;
    std::string title{};
    std::string summary{}; ///< what was seen at the offending line, in one sentence
    std::vector<std::pair<std::string_view, double>>
        evidence{};                     ///< the same in numbers; keys end in their unit
    std::vector<std::string> details{}; ///< further sentences
    ids::StackId stack{};               ///< offending line; 0: none recorded
    ids::StackId library_stack{};       ///< through the library's function that is called there; 0: none
    bool touched_by_host = false;       ///< there: the code is known, what called it may not be
    ids::StackId allocation_stack{};    ///< line of the CUDA allocation concerned; 0: none
    std::string allocation_text{}; ///< "cudaMallocManaged 32 MiB"; empty where no CUDA allocation is concerned
    std::vector<std::pair<std::string, ids::StackId>> places{}; ///< further lines that matter: what and stack
    std::size_t order_places = 0;       ///< the first of them, between which something must keep the order
    std::string advice{};               ///< what to write instead
    std::vector<CodeEdit> code_edits{}; ///< the same, line by line; empty where it is a rework
    double saving_ns = 0;
    bool harmless = false; ///< an error that changes neither results nor times: reported below all others
    double price_ns = 0; ///< the saving as the rule works it out, before the replay and other findings limit it
    bool unpriced = false; ///< what it saves is not known: `saving_ns` is 0, and `basis` says why
    /// Least and most that the recorded calls allow, if these lie far apart; 0: `saving_ns` alone holds.
    double saving_at_least_ns = 0, saving_at_most_ns = 0;
    /// What its remedy costs at the host's prices, and what it spares at them: page-locking, first touch and
    /// copies by the host. None of this was measured in the run.
    double host_cost_ns = 0, host_gain_ns = 0;
    /// The time of the host's statements that the remedy takes away; 0: it takes none away.
    double statement_ns = 0;
    Order order{};
    std::vector<OrderLoss> lost_order{};
    std::string order_advice{}; ///< the end of `advice`, also where that is put in the words of a framework:
                                ///< what keeps the order
    timeline::Edit edit{};      ///< what the remedy changes; `saving_ns` is at most what its replay gains
    std::uint64_t saving_bytes = 0; ///< by how much the program would need less memory at its peak
    std::string basis{};            ///< what the saving was worked out from
    Confidence confidence{};
    struct Part {
        const Rule* rule = nullptr;
        std::string advice{};       ///< the end of one of `details`
        std::string order_advice{}; ///< the end of that
    };
    std::vector<Part> parts{}; ///< of rules that speak of the same moves, and save less
};

/// What calls take in the run, and what is left of it after the change: the rule's saving is the difference.
struct Difference {
    double spent_ns = 0, left_ns = 0;
};
/// Nothing where the rule works its saving out in another way.
std::optional<Difference> difference(const Finding& finding);

/// No change saves more than the time that was recorded, without what making contexts took.
double within_recorded(const Profile& profile, double saving_ns);

/// Adds a line between which and others something must keep the order, unless it is listed as such.
void add_order_place(Finding& finding, const std::string& what, ids::StackId stack);

/// `part` counts what `larger` does, so `larger` mentions it, and its saving adds nothing.
void fold(Finding& larger, const Finding& part);

} // namespace umadvisor::rules
