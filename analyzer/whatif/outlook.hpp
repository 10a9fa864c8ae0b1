/// What is to be expected of a job on another card.
#pragma once

#include "analyzer/machine/rates.hpp"
#include "analyzer/whatif/job_reader.hpp"
#include "analyzer/whatif/replay.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace umadvisor::whatif {

struct Question {
    std::uint64_t gpu_memory = 0; ///< bytes; 0: the card of the trace
    double link = 0;              ///< bytes per second in either direction; 0: as `rates` say
    std::string act = "prefetch"; ///< list of prefetch and rewrite=all
    machine::Rates rates;
    bool rates_named = false; ///< the user named them: they hold for the card asked about
};

struct Outlook {
    std::string program, device = "unknown device";
    std::uint64_t recorded_memory = 0; ///< of all cards it ran on, bytes; 0: not known
    std::size_t devices = 0;           ///< that it ran on; they count as one
    std::string recorded_act;          ///< as --act had it; empty: umadvisor left the run alone
    std::uint64_t capacity = 0;        ///< asked for
    double link = 0;                   ///< asked for; 0: as the rates have it
    std::string act, rates_of;
    residency::Prices prices;
    /// A recorded device whose link was not measured, with its memory mode: no times are given. Empty: none.
    std::string unmeasured;
    Job::Peak peak;
    std::uint64_t launches = 0, left_out = 0;
    bool rewritten = false, moves = false, parts_known = false; ///< moves: some of its memory
    Unknowns unknowns;
    std::uint64_t recorded_ns = 0;
    /// What managed memory moved in the recorded run, as reports have it; nothing where it was not recorded.
    std::optional<managed::MovedBytes> recorded_moved;
    std::optional<Moved> modelled; ///< the recorded run on its own card by the model

    /// Moving time of the recorded run by the model; 0 where the card or its link is not known.
    std::uint64_t modelled_moving_ns() const { return modelled && unmeasured.empty() ? modelled->ns : 0; }
    /// Whether the model's bytes differ from the recorded run's by at most a tenth, each way.
    bool model_agrees() const;
    bool starts() const { return peak.stays <= capacity; } ///< else it is out of memory
    bool fits() const { return peak.all <= capacity; }
    /// Nothing on a card where the job does not start.
    std::optional<Moved> on_demand, acted, optimum;
    /// Time of the whole job if nothing else changes: the recorded run's moving time is replaced by this.
    std::uint64_t job_ns(const Moved& moved) const;
};

/// Throws reader::Error where neither the trace nor the question gives the card's memory, and where damage
/// left no record in the trace.
Outlook outlook(reader::Trace& trace, const Question& question);

void write_text(const Outlook& outlook, std::ostream& out);
/// "umadvisor-whatif-1", which docs/whatif.md describes.
nlohmann::ordered_json to_json(const Outlook& outlook);

} // namespace umadvisor::whatif
