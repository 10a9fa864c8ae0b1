#include "analyzer/ranks/report.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <set>

namespace umadvisor::ranks {
namespace {

using text::count_text;
using text::time_text;

constexpr std::size_t deviations_shown = 8, steps_shown = 4, findings_shown = 10; ///< without --all
constexpr std::size_t longest_in_text = 60;
/// A quantity that is smaller everywhere is left out: of the run, or bytes.
constexpr double least_shown_of_run = 0.001, least_shown_bytes = 1024;

std::string value_text(Unit unit, double value) {
    switch (unit) {
    case Unit::time:
        return time_text(value);
    case Unit::bytes:
        return text::bytes_text(value);
    default:
        return value == 0 ? "not known" : text::rate_text(value);
    }
}

const QuantityWords& words_of(Quantity quantity) {
    return quantity_words[static_cast<std::size_t>(quantity)];
}

const std::string& who(const Comparison& job, std::size_t rank) {
    return job.ranks()[rank].who;
}

void write_notes(const Comparison& job, std::ostream& out) {
    for (const std::string& note : notes_of(job))
        out << "  - " << note << "\n";
}

void write_head(const Comparison& job, std::ostream& out) {
    const Spread run = job.spread(Quantity::run), gain = job.spread(Quantity::gain);
    out << reader::shown_name(job.program(), longest_in_text) << " · " << count_text(job.ranks().size(), "rank")
        << " on " << count_text(job.hosts(), "host") << " · "
        << reader::shown_name(devices_text(job), longest_in_text) << " · " << time_text(run.median)
        << " in the median (contexts left out)";
    if (gain.median > 0)
        out << " · together: " << time_text(run.median) << " -> " << time_text(run.median - gain.median);
    out << "\n";
    write_notes(job, out);
}

/// "rank 3 (node7, NUMA node 1)".
std::string rank_text(const Comparison& job, std::size_t number) {
    const Comparison::Rank& rank = job.ranks()[number];
    std::string text = rank.who;
    if (!rank.host.empty() && job.hosts() > 1)
        text += " on " + reader::shown_name(rank.host, longest_in_text);
    if (rank.node != 0)
        text += fmt::format(" (NUMA node {})", rank.node - 1);
    return text;
}

void write_table(const Comparison& job, std::ostream& out) {
    const double run = job.spread(Quantity::run).median;
    out << "\n    " << std::left << std::setw(26) << "of each rank" << std::setw(24) << "least" << std::setw(14)
        << "median"
        << "most\n";
    for (std::size_t i = 0; i < quantities; ++i) {
        const auto quantity = static_cast<Quantity>(i);
        const Spread spread = job.spread(quantity);
        const Unit unit = words_of(quantity).unit;
        if (spread.most < (unit == Unit::time ? least_shown_of_run * run : least_shown_bytes))
            continue;
        const auto end = [&](double value, std::size_t rank) {
            return fmt::format("{} ({})", value_text(unit, value), reader::shown_name(who(job, rank), 12));
        };
        out << "    " << std::setw(26) << words_of(quantity).text << std::setw(24)
            << end(spread.least, spread.least_rank) << std::setw(14) << value_text(unit, spread.median)
            << end(spread.most, spread.most_rank) << "\n";
    }
}

void write_steps(const Comparison& job, bool all, std::ostream& out) {
    const std::vector<SharedStep> steps = job.steps();
    for (std::size_t i = 0; i < std::min(steps.size(), all ? steps.size() : steps_shown); ++i) {
        const SharedStep& step = steps[i];
        out << (i == 0 ? "\n" : "") << "    steps \"" << reader::shown_name(step.name, longest_in_text)
            << "\" x " << step.count << ": median of the ranks " << time_text(step.median_ns.median) << ", "
            << time_text(step.median_ns.least) << " (" << who(job, step.median_ns.least_rank) << ") to "
            << time_text(step.median_ns.most) << " (" << who(job, step.median_ns.most_rank) << ")\n";
    }
}

void write_deviations(const Comparison& job, bool all, std::ostream& out) {
    const std::vector<Deviation> deviations = job.deviations();
    if (deviations.empty()) {
        out << (job.ranks().size() > 1 ? "\n    no rank deviates from the others\n" : "");
        return;
    }
    const std::size_t shown = all ? deviations.size() : std::min(deviations.size(), deviations_shown);
    out << "\n    ranks that deviate\n";
    const std::vector<std::optional<DeviationPlace>> places = job.places(deviations);
    for (std::size_t i = 0; i < shown; ++i) {
        out << "      " << rank_text(job, deviations[i].rank) << ": " << deviation_text(deviations[i]) << "\n";
        if (places[i])
            out << "        " << place_text(deviations[i].quantity, *places[i]) << "\n";
    }
    if (shown < deviations.size())
        out << "      and " << deviations.size() - shown << " more (--all)\n";
}

void write_findings(const Comparison& job, bool all, std::ostream& out) {
    const std::vector<SharedFinding> found = job.findings();
    const std::size_t shown = all ? found.size() : std::min(found.size(), findings_shown);
    if (found.empty())
        out << "\n    no problem was found on any rank\n";
    for (std::size_t i = 0; i < shown; ++i) {
        const SharedFinding& finding = found[i];
        out << "\n"
            << std::right << std::setw(2) << i + 1 << "  " << finding.rule << " " << finding.title << "\n    "
            << finding.line << " · on " << finding.ns.count << " of " << count_text(job.ranks().size(), "rank")
            << " · " << saving_text(job, finding) << "\n";
    }
    if (shown < found.size())
        out << "\n    and " << count_text(found.size() - shown, "more finding") << " (--all)\n";
}

} // namespace

std::string value_text(Quantity quantity, double value) {
    return value_text(words_of(quantity).unit, value);
}

std::string deviation_text(const Deviation& deviation) {
    const QuantityWords& words = words_of(deviation.quantity);
    const std::string value = value_text(words.unit, deviation.value),
                      others = value_text(words.unit, deviation.others);
    switch (words.unit) {
    case Unit::time:
        return fmt::format("{} more {} ({}, the others {})", time_text(deviation.value - deviation.others),
                           words.text, value, others);
    case Unit::bytes:
        return fmt::format("{} more {} ({}, the others {})",
                           text::bytes_text(deviation.value - deviation.others), words.text, value, others);
    default:
        return fmt::format("a slower {} ({}, the others {})", words.text, value, others);
    }
}

std::string place_text(Quantity quantity, const DeviationPlace& place) {
    return fmt::format("most of it at {} ({} there, the others {})", place.text,
                       value_text(quantity, place.value), value_text(quantity, place.others));
}

std::string waiting_text(const Comparison& job) {
    const std::optional<Waiting> waiting = job.waiting();
    if (!waiting)
        return {};
    // Of what that rank does more, what takes most time explains most.
    const std::vector<Deviation> deviations = job.deviations();
    const Deviation* why = nullptr;
    for (const Deviation& each : deviations) {
        const auto extra_ns = [](const Deviation& deviation) {
            return words_of(deviation.quantity).unit == Unit::time ? deviation.value - deviation.others : 0;
        };
        if (each.rank == waiting->for_rank && (why == nullptr || extra_ns(each) > extra_ns(*why)))
            why = &each;
    }
    std::string text = fmt::format("in collectives the other ranks waited {} in the median for {}",
                                   time_text(waiting->median_ns), who(job, waiting->for_rank));
    if (job.ranks().size() > 2)
        text += fmt::format(" ({} most: {})", who(job, waiting->most_rank), time_text(waiting->most_ns));
    return text + (why == nullptr ? std::string(", and nothing that was recorded explains it")
                                  : ", which has " + deviation_text(*why));
}

std::string saving_text(const Comparison& job, const SharedFinding& finding) {
    if (finding.ns.sum > 0 && finding.ns.least == finding.ns.most)
        return fmt::format("saves about {} in each rank", time_text(finding.ns.median));
    if (finding.ns.sum > 0)
        return fmt::format("saves about {} of a rank: {} ({}) to {} ({})", time_text(finding.ns.median),
                           time_text(finding.ns.least), who(job, finding.ns.least_rank),
                           time_text(finding.ns.most), who(job, finding.ns.most_rank));
    if (finding.unpriced)
        return std::string(text::saving_unknown);
    if (finding.is_urgent())
        return "fixes an error";
    return text::bytes_text(finding.bytes) + " of memory in all";
}

std::string devices_text(const Comparison& job) {
    std::set<std::string> names;
    for (const Comparison::Rank& rank : job.ranks())
        names.insert(rank.device);
    return names.size() == 1 ? *names.begin() : count_text(names.size(), "kind") + " of devices";
}

std::vector<std::string> notes_of(const Comparison& job) {
    std::vector<std::string> notes;
    if (job.left_out() != 0)
        notes.push_back(
            fmt::format("left out: {} without a CUDA call (launchers, and workers without a device)",
                        count_text(job.left_out(), "trace")));
    if (job.unknown() != 0)
        notes.push_back(
            fmt::format("not known: {} damaged so that no call is left", count_text(job.unknown(), "trace")));
    const auto partial = std::ranges::count(job.ranks(), false, &Comparison::Rank::complete);
    if (partial != 0)
        notes.push_back(fmt::format("the traces of {} are not complete: their figures are too low",
                                    count_text(static_cast<std::uint64_t>(partial), "rank")));
    if (job.hosts() > 1)
        notes.emplace_back("the hosts' clocks are not aligned: lengths are compared, never moments");
    return notes;
}

void write_text(const Comparison& job, bool all, std::ostream& out) {
    if (job.ranks().empty()) {
        out << (job.unknown() == 0 ? "no rank called CUDA\n" : "no call of a rank could be read\n");
        write_notes(job, out);
        return;
    }
    write_head(job, out);
    if (const std::string waiting = waiting_text(job); !waiting.empty())
        out << "  - waiting: " << waiting << "\n";
    write_table(job, out);
    write_steps(job, all, out);
    write_deviations(job, all, out);
    write_findings(job, all, out);
}

} // namespace umadvisor::ranks
