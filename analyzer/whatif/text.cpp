#include "analyzer/rules/words.hpp"
#include "analyzer/text/table.hpp"
#include "analyzer/whatif/outlook.hpp"

#include <ostream>

namespace umadvisor::whatif {
namespace {

using text::bytes_text;
using text::count_text;
using text::rate_text;
using text::time_text;

void write_fit(const Outlook& outlook, std::ostream& out) {
    const Job::Peak& peak = outlook.peak;
    out << "on a card of " << bytes_text(outlook.capacity) << ": ";
    if (!outlook.starts())
        out << "it runs out of memory: " << bytes_text(peak.stays)
            << " at once are device memory, which stays on the card"
            << (outlook.rewritten ? "" : "; with --act rewrite=all it may page") << "\n";
    else if (outlook.fits())
        out << "it fits: " << bytes_text(peak.all) << " at once\n";
    else
        out << "it runs by paging: " << bytes_text(peak.all) << " at once"
            << (peak.stays == 0 ? "" : ", " + bytes_text(peak.stays) + " of them device memory, which stays")
            << "\n";
    if (outlook.launches == 0 && outlook.moves && outlook.unknowns.unscanned != 0) {
        out << "no launch is known to reach " << (outlook.rewritten ? "managed or rewritten" : "managed")
            << " memory: what " << count_text(outlook.unknowns.unscanned, "launch")
            << " may access was not recorded, and its moves are missing here. Under --act stage or rewrite "
               "alone, launches are recorded in brief; record without --act or with UMADVISOR_LAUNCHES=full "
               "for more\n";
        return;
    }
    if (outlook.launches == 0) {
        out << "no launch reaches managed memory"
            << (outlook.rewritten ? "" : "; --act rewrite=all makes all of it managed") << "\n";
        return;
    }
    out << "launches that reach " << (outlook.rewritten ? "managed or rewritten" : "managed")
        << " memory: " << outlook.launches << ", at most " << bytes_text(peak.launch) << " each\n";
}

void write_row(const Outlook& outlook, const std::string& policy, const std::optional<Moved>& moved,
               text::Table& table) {
    if (!moved)
        return;
    const bool timed = outlook.unmeasured.empty();
    table.rows.push_back({policy, bytes_text(moved->to_device), bytes_text(moved->to_host),
                          std::to_string(moved->evicted_blocks), timed ? time_text(moved->ns) : "not known",
                          timed ? "about " + time_text(outlook.job_ns(*moved)) : "not known"});
}

std::string whole_job(const Outlook& outlook) {
    return fmt::format("the whole job took {}, the start of CUDA included, on {} with {}",
                       time_text(outlook.recorded_ns), outlook.device, bytes_text(outlook.recorded_memory));
}

/// What the times are based on, or why there are none.
void write_prices(const Outlook& outlook, std::ostream& out) {
    if (!outlook.unmeasured.empty()) {
        out << "the time for moving is unknown: the link was not measured of " << outlook.unmeasured
            << ". umadvisor calibrate measures it, and --machine FILE names what was measured elsewhere. What "
               "would move is computed for a card that migrates managed memory by page faults\n"
            << whole_job(outlook) << "\n";
        return;
    }
    out << "moving takes " << rate_text(outlook.prices.migrate_to_device) << " to the device and "
        << rate_text(outlook.prices.migrate_to_host) << " to the host"
        << (outlook.link > 0 ? " as asked for" : "") << ", and " << time_text(outlook.prices.device_fault_group)
        << " more for the faults of 2 MiB or " << time_text(outlook.prices.prefetch_move)
        << " for a prefetch, measured on " << outlook.rates_of
        << "; it overlaps with nothing. What is evicted is always copied back\n";
    out << whole_job(outlook) << "; by the same model, moving took " << time_text(outlook.modelled_moving_ns())
        << " of it\n";
}

/// What the run moved stands in the table; the other rows are the model's.
void write_model(const Outlook& outlook, std::ostream& out) {
    if (!outlook.on_demand || outlook.model_agrees())
        return;
    out << "  ! the rows below the first are a simulation: of the recorded run it moves "
        << bytes_text(outlook.modelled->to_device) << " to the device and "
        << bytes_text(outlook.modelled->to_host)
        << " to the host. What host and device do at the same time, and what launches leave out of their "
           "allocations, is not in it: figures for another card are as far off\n";
}

void write_basis(const Outlook& outlook, std::ostream& out) {
    write_model(outlook, out);
    write_prices(outlook, out);
    if (outlook.launches != 0)
        out << (outlook.parts_known
                    ? "launches access the 2 MiB blocks for which page faults or prefetches were recorded\n"
                    : "launches are assumed to access their whole allocations: not all device faults were "
                      "recorded (umadvisor run --um-detail faults)\n");
    const Unknowns& unknowns = outlook.unknowns;
    if (unknowns.host_blind && outlook.launches != 0)
        out << "the host's accesses were not recorded and are not included\n";
    if (!outlook.recorded_act.empty() && outlook.launches != 0)
        out << "recorded under --act " << outlook.recorded_act
            << ", which hides some of the host's accesses: on demand more may move than shown here\n";
    if (unknowns.unscanned != 0 && outlook.launches != 0)
        out << count_text(unknowns.unscanned, "launch") << " may access more than is known of them\n";
    if (unknowns.faults != 0)
        out << count_text(unknowns.faults, "event") << " of managed memory that was freed or unknown omitted\n";
    if (outlook.devices > 1)
        out << outlook.devices << " devices are treated as one card\n";
    if (outlook.left_out != 0)
        out << "the trace is too long, or its memory too large, for all of it: only its beginning was "
               "replayed\n";
}

} // namespace

void write_text(const Outlook& outlook, std::ostream& out) {
    out << outlook.program << " · ";
    write_fit(outlook, out);
    if (outlook.on_demand) {
        text::Table table{"policies",
                          "what would move, and how long it would take",
                          {{"policy", "policy"},
                           {"to_device", "to device"},
                           {"to_host", "to host"},
                           {"evicted", "evicted"},
                           {"moving", "moving"},
                           {"job", "whole job"}},
                          {}};
        if (outlook.recorded_moved)
            table.rows.push_back({std::string("as recorded"), bytes_text(outlook.recorded_moved->to_device),
                                  bytes_text(outlook.recorded_moved->to_host), std::string(), std::string(),
                                  time_text(outlook.recorded_ns)});
        write_row(outlook, "on demand", outlook.on_demand, table);
        write_row(outlook, "--act " + outlook.act, outlook.acted, table);
        write_row(outlook, "at best (Belady)", outlook.optimum, table);
        text::write_text(table, out);
        out << "\n";
    }
    write_basis(outlook, out);
}

} // namespace umadvisor::whatif
