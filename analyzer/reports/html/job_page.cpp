#include "analyzer/reports/html/job_page.hpp"

#include "analyzer/ranks/report.hpp"
#include "analyzer/reports/html/parts.hpp"
#include "analyzer/reports/html/shell.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace umadvisor::html {
namespace {

using ranks::Comparison;
using ranks::Quantity;
using Rank = Comparison::Rank;

struct TimePart {
    Quantity quantity;
    std::string_view words, colour;
};
/// What the run of a rank's host thread is made of, in the order of the bar.
constexpr TimePart time_parts[] = {{Quantity::own, "the program's own code", "code"},
                                   {Quantity::calls, "other CUDA calls", "launch"},
                                   {Quantity::copies, "copies", "fill"},
                                   {Quantity::waits, "waiting for the device", "kwait"}};

double of(const Rank& rank, Quantity quantity) {
    return rank.measured[static_cast<std::size_t>(quantity)];
}

double sum_of_parts(const ranks::Quantities& measured) {
    double sum = 0;
    for (const TimePart& part : time_parts)
        sum += measured[static_cast<std::size_t>(part.quantity)];
    return sum;
}

/// A job with what several parts of its page need.
struct Job {
    const Comparison& ranks;
    std::vector<ranks::Deviation> deviations;
    std::vector<std::optional<ranks::DeviationPlace>> places;
    std::vector<std::size_t> order; ///< of the ranks: those that deviate come first, the others by number
    std::vector<std::vector<std::size_t>> odd; ///< deviations by rank

    explicit Job(const Comparison& job)
        : ranks(job), deviations(job.deviations()), places(job.places(deviations)), odd(job.ranks().size()) {
        std::vector<bool> placed(odd.size());
        const auto place = [&](std::size_t rank) {
            if (!placed[rank])
                order.push_back(rank);
            placed[rank] = true;
        };
        if (const std::optional<ranks::Waiting> waiting = job.waiting())
            place(waiting->for_rank);
        for (std::size_t i = 0; i < deviations.size(); ++i) {
            odd[deviations[i].rank].push_back(i);
            place(deviations[i].rank);
        }
        for (std::size_t rank = 0; rank < odd.size(); ++rank)
            place(rank);
    }
    const std::string& who(std::size_t rank) const { return ranks.ranks()[rank].who; }
    std::string odd_text(std::size_t deviation) const {
        return ranks::deviation_text(deviations[deviation]) +
               (places[deviation] ? ", " + ranks::place_text(deviations[deviation].quantity, *places[deviation])
                                  : std::string());
    }
};

/// A bar of the parts of one run; the table beside it has the numbers.
void write_time(Markup& out, const ranks::Quantities& measured, double scale) {
    out.markup("<svg class=\"bar\" width=\"100%\" height=\"14\" aria-hidden=\"true\">");
    double at = 0;
    for (const TimePart& part : time_parts) {
        const double share = measured[static_cast<std::size_t>(part.quantity)] / scale;
        constexpr double least = 0.002;
        if (share >= least)
            out.markup(fmt::format("<rect class=\"c-{}\" x=\"{:.1f}%\" width=\"{:.1f}%\" height=\"14\"/>",
                                   part.colour, at * 100, share * 100));
        at += share;
    }
    out.markup("</svg>");
}

void write_run_bar(Markup& out, const std::string& name, const ranks::Quantities& measured, double scale) {
    std::string label = name;
    for (const TimePart& part : time_parts)
        label += fmt::format(", {} {}", part.words,
                             text::time_text(measured[static_cast<std::size_t>(part.quantity)]));
    Bar bar(label);
    for (const TimePart& part : time_parts) {
        const double ns = measured[static_cast<std::size_t>(part.quantity)];
        const std::string words = fmt::format("{} {}", part.words, text::time_text(ns));
        bar.part(ns / scale, part.colour, words, words);
    }
    const std::string whole = text::time_text(sum_of_parts(measured));
    out.markup("<span class=\"k\">").text(name).markup(" ").element("b", whole).markup("</span>");
    out.markup(bar.str());
}

/// The rank that comes first beside the median of all.
void write_where(Markup& out, const Job& job) {
    ranks::Quantities usual{};
    for (const TimePart& part : time_parts)
        usual[static_cast<std::size_t>(part.quantity)] = job.ranks.spread(part.quantity).median;
    const Rank& first = job.ranks.ranks()[job.order.front()];
    const bool any_odd = !job.deviations.empty() || job.ranks.waiting();
    const double scale = std::max(sum_of_parts(usual), any_odd ? sum_of_parts(first.measured) : 0);
    if (scale <= 0)
        return;
    out.markup(
        "<div class=\"where\"><h2 class=\"cap\">Where the time goes <span class=\"mut\">(the host thread "
        "that is longest in CUDA calls; the bars have one scale)</span></h2><div class=\"stk\">");
    write_run_bar(out, "median", usual, scale);
    if (any_odd)
        write_run_bar(out, first.who, first.measured, scale);
    out.markup("</div><ul class=\"lg\">");
    for (const TimePart& part : time_parts) {
        begin_legend_entry(out, part.colour, part.words);
        out.markup("</li>");
    }
    out.markup("</ul></div>");
}

void write_job_head(Markup& out, const Job& job) {
    const Comparison& all = job.ranks;
    out.markup("<div class=\"panel head\"><div>")
        .element("h1", all.program().empty() ? "unknown program" : all.program());
    out.markup("<div class=\"facts\"><span><b>").text(text::count_text(all.ranks().size(), "rank"));
    out.markup("</b> on ").text(text::count_text(all.hosts(), "host")).markup("</span>");
    if (!all.ranks().empty())
        out.markup("<span>").element("b", ranks::devices_text(all)).markup("</span>");
    out.markup("</div>");
    for (const std::string& note : ranks::notes_of(all))
        out.element("p class=\"note\"", note);
    if (!all.ranks().empty())
        write_where(out, job);
    out.markup("</div><div class=\"tog\"><h2 class=\"cap\">Run time, median of the ranks</h2>");
    const ranks::Spread run = all.spread(Quantity::run), gain = all.spread(Quantity::gain);
    out.markup("<p class=\"big\" id=\"together\">");
    if (gain.median > 0)
        out.markup("<span class=\"was\">")
            .text(text::time_text(run.median))
            .markup(" → </span>")
            .text(text::time_text(std::max(0.0, run.median - gain.median)));
    else
        out.text(text::time_text(run.median));
    out.markup("</p>").element("p class=\"mut\"", gain.median > 0
                                                      ? "with all findings of a rank; without the start of CUDA"
                                                      : "without the start of CUDA");
    if (!all.ranks().empty()) {
        out.markup("<dl>");
        for (const auto& [name, value, rank] : {std::tuple("Shortest run", run.least, run.least_rank),
                                                std::tuple("Longest run", run.most, run.most_rank)})
            out.element("dt", name)
                .element("dd", fmt::format("{} ({})", text::time_text(value), job.who(rank)));
        out.element("dt", "Ranks that deviate")
            .element("dd", std::to_string(
                               std::ranges::count_if(job.odd, [](const auto& list) { return !list.empty(); })));
        out.markup("</dl>");
    }
    out.markup("</div></div>");
}

std::string where_text(const Comparison& job, const Rank& rank) {
    std::string text = job.hosts() > 1 ? rank.host : "";
    if (rank.node != 0)
        text += fmt::format("{}NUMA node {}", text.empty() ? "" : ", ", rank.node - 1);
    return text;
}

void write_ranks(Markup& out, const Job& job, const PageOfTrace& page_of) {
    const std::vector<Rank>& ranks = job.ranks.ranks();
    out.markup("<section id=\"ranks\" aria-labelledby=\"h-ranks\"><div class=\"sh\"><h2 "
               "id=\"h-ranks\">Ranks</h2></div>");
    std::vector<Quantity> columns; // those that all ranks have nothing of are left out
    for (std::size_t i = 1; i < ranks::quantities; ++i)
        if (job.ranks.spread(static_cast<Quantity>(i)).most > 0)
            columns.push_back(static_cast<Quantity>(i));
    const bool with_places =
        std::ranges::any_of(ranks, [&](const Rank& rank) { return !where_text(job.ranks, rank).empty(); });
    begin_table(out, "ranks", "All ranks",
                job.deviations.empty() ? "no rank deviates from the others" : "those that deviate first");
    out.markup("<th scope=\"col\" data-key=\"rank\">Rank</th>");
    if (with_places)
        out.markup("<th scope=\"col\" data-key=\"place\">Where</th>");
    out.markup("<th scope=\"col\" class=\"r\" data-key=\"run_ns\">Run</th><th scope=\"col\" "
               "data-key=\"deviates\">Deviates by</th>");
    for (const Quantity quantity : columns) {
        const ranks::QuantityWords& words = ranks::quantity_words[static_cast<std::size_t>(quantity)];
        std::string title(words.text);
        title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
        out.markup("<th scope=\"col\" class=\"r\" data-key=\"").markup(words.key).markup("\">");
        out.text(title).markup("</th>");
    }
    out.markup("</tr></thead><tbody>");
    const double longest = std::max(1.0, job.ranks.spread(Quantity::run).most);
    for (const std::size_t number : job.order) {
        const Rank& rank = ranks[number];
        out.markup("<tr><th scope=\"row\">");
        if (const std::string page = page_of(rank.trace); !page.empty())
            out.markup("<a href=\"").text(page).markup("\">").text(rank.who).markup("</a>");
        else
            out.text(rank.who);
        out.markup("</th>");
        if (with_places)
            out.element("td", where_text(job.ranks, rank));
        const double run = of(rank, Quantity::run);
        out.markup(fmt::format("<td class=\"r run\" data-v=\"{:.0f}\">", run));
        write_time(out, rank.measured, longest);
        out.text(text::time_text(run)).markup("</td><td class=\"odd\">");
        for (const std::size_t deviation : job.odd[number])
            out.element("div", job.odd_text(deviation));
        if (!rank.complete)
            out.element("div", "its trace is not complete");
        out.markup("</td>");
        for (const Quantity quantity : columns) {
            const double value = of(rank, quantity);
            out.markup(fmt::format("<td class=\"r{}\" data-v=\"{:.0f}\">", value == 0 ? " z" : "", value));
            out.text(value == 0 ? "–" : ranks::value_text(quantity, value)).markup("</td>");
        }
        out.markup("</tr>");
    }
    out.markup("</tbody></table></div></section>");
}

/// Numbers of the ranks that wait most, or least, in the order of the job.
std::vector<std::size_t> by_waiting(const Comparison& job, bool most) {
    constexpr std::size_t shown = 16;
    std::vector<std::size_t> list(job.ranks().size());
    std::iota(list.begin(), list.end(), std::size_t{0});
    std::ranges::stable_sort(list, [&](std::size_t one, std::size_t other) {
        const double left = of(job.ranks()[one], Quantity::collectives),
                     right = of(job.ranks()[other], Quantity::collectives);
        return most ? left > right : left < right;
    });
    list.resize(std::min(list.size(), shown));
    std::ranges::sort(list);
    return list;
}

void write_waits(Markup& out, const Job& job) {
    const Comparison& all = job.ranks;
    out.markup(
        "<section id=\"waits\" aria-labelledby=\"h-waits\"><div class=\"sh\"><h2 id=\"h-waits\">Who waits "
        "for whom</h2></div><div class=\"panel\">");
    const std::string words = ranks::waiting_text(all);
    const double most = all.ranks().empty() ? 0 : all.spread(Quantity::collectives).most;
    out.element("p class=\"waits\"", !words.empty() ? words
                                     : most > 0     ? "no rank waits long for another in collectives"
                                                : "no collectives of NCCL or NVSHMEM were recorded: waits of "
                                                  "MPI on the host are part of the program's own code");
    if (most > 0 && all.ranks().size() > 1) {
        const std::vector<std::size_t> rows = by_waiting(all, true), columns = by_waiting(all, false);
        const auto more = [&](std::size_t row, std::size_t column) {
            return of(all.ranks()[row], Quantity::collectives) - of(all.ranks()[column], Quantity::collectives);
        };
        double scale = 0;
        for (const std::size_t row : rows)
            for (const std::size_t column : columns)
                scale = std::max(scale, more(row, column));
        out.markup("<p class=\"waits\">How much longer the rank of a row was in collectives than the rank of "
                   "a column, which came later: the sums of the run, since a job file does not have each "
                   "collective.");
        if (rows.size() < all.ranks().size())
            out.text(fmt::format(" Rows are the {} ranks that waited most, columns the {} that waited least.",
                                 rows.size(), columns.size()));
        out.markup("</p><div class=\"tw\" tabindex=\"0\" role=\"region\" aria-label=\"matrix of waits\"><table "
                   "class=\"d matrix\" id=\"t-waits\"><thead><tr><th scope=\"col\">waits for</th>");
        for (const std::size_t column : columns)
            out.element("th scope=\"col\" class=\"r\"", job.who(column));
        out.markup("</tr></thead><tbody>");
        for (const std::size_t row : rows) {
            out.markup("<tr>").element("th scope=\"row\"", job.who(row));
            for (const std::size_t column : columns) {
                const double ns = more(row, column);
                constexpr double steps = 4;
                if (ns <= 0)
                    out.markup("<td class=\"r z\">–</td>");
                else
                    out.markup(fmt::format("<td class=\"r w{:.0f}\" data-v=\"{:.0f}\">",
                                           std::ceil(ns / scale * steps), ns))
                        .text(text::time_text(ns))
                        .markup("</td>");
            }
            out.markup("</tr>");
        }
        out.markup("</tbody></table></div>");
    }
    out.markup("</div></section>");
}

void write_shared_card(Markup& out, const Job& job, const ranks::SharedFinding& finding, std::size_t number,
                       double largest) {
    const std::size_t all = job.ranks.ranks().size();
    out.markup(
        fmt::format("<details class=\"card\" id=\"f{0}\"{1}><summary><span class=\"rank\">{0}</span><span "
                    "class=\"ttl\">",
                    number, number == 1 ? " open" : ""));
    out.element("b", finding.title).markup("<span><span class=\"at m\">").text(finding.line);
    out.markup("</span> · ").text(fmt::format("on {} of {}", finding.ns.count, text::count_text(all, "rank")));
    out.markup("</span></span><svg class=\"sbar\" width=\"100%\" height=\"9\" aria-hidden=\"true\"><rect "
               "class=\"c-sunk\" width=\"100%\" height=\"9\"/><rect class=\"c-good\" width=\"");
    out.markup(percent(largest > 0 ? finding.ns.sum / largest : 0));
    out.markup(fmt::format("\" height=\"9\"/></svg><span class=\"save\" data-ns=\"{:.0f}\">", finding.ns.sum));
    out.text(finding.ns.sum > 0    ? text::time_text(finding.ns.median)
             : finding.unpriced    ? std::string(text::saving_unknown)
             : finding.is_urgent() ? "fix this first"
                                   : text::bytes_text(finding.bytes));
    out.markup("</span>");
    write_confidence(out, finding.confidence);
    out.element("span class=\"mut rid m\"", finding.rule);
    out.markup("<span class=\"chev\" aria-hidden=\"true\">›</span></summary><div class=\"body\"><div><h3>Look "
               "here</h3>");
    out.element("p class=\"m\"", finding.line).markup("</div><div><h3>Over the ranks</h3>");
    out.element("p", ranks::saving_text(job.ranks, finding));
    if (finding.ns.sum > 0)
        out.element("p", fmt::format("{} of all ranks together", text::time_text(finding.ns.sum)));
    out.markup("</div><div class=\"wide\"><h3>What to write instead</h3><div class=\"line\"><pre class=\"m\" "
               "tabindex=\"0\" aria-label=\"command\">umadvisor explain ");
    out.text(finding.rule)
        .markup("</pre><button class=\"btn js\" data-copy>Copy</button></div></div></div>"
                "</details>");
}

void write_shared_findings(Markup& out, const Job& job) {
    const std::vector<ranks::SharedFinding> found = job.ranks.findings();
    double largest = 0;
    for (const ranks::SharedFinding& finding : found)
        largest = std::max(largest, finding.ns.sum);
    out.markup("<section id=\"findings\" aria-labelledby=\"h-findings\"><div class=\"sh\"><h2 "
               "id=\"h-findings\">Findings</h2>");
    out.element("span class=\"mut\"",
                found.empty()
                    ? std::string("none on any rank")
                    : fmt::format("{}, by what they save on all ranks together; the figure is the median "
                                  "of a rank",
                                  found.size()));
    if (found.empty()) {
        out.markup("</div></section>");
        return;
    }
    write_open_all(out);
    constexpr std::size_t most_cards = 200;
    out.markup("</div><div class=\"panel\"><div class=\"cards\">");
    for (std::size_t i = 0; i < std::min(found.size(), most_cards); ++i)
        write_shared_card(out, job, found[i], i + 1, largest);
    out.markup("</div>");
    if (found.size() > most_cards)
        out.element("p class=\"more\"",
                    fmt::format("{} more findings: umadvisor report --all", found.size() - most_cards));
    out.markup("</div></section>");
}

void write_shared_steps(Markup& out, const Job& job) {
    const std::vector<ranks::SharedStep> steps = job.ranks.steps();
    text::Table table{"steps",
                      "Median of each rank",
                      {{"name", "Step"},
                       {"count", "Count"},
                       {"least_ns", "Least (ns)"},
                       {"least_rank", "Least On"},
                       {"median_ns", "Median (ns)"},
                       {"most_ns", "Most (ns)"},
                       {"most_rank", "Most On"}},
                      {}};
    for (const ranks::SharedStep& step : steps)
        table.rows.push_back({step.name, step.count, step.median_ns.least, job.who(step.median_ns.least_rank),
                              step.median_ns.median, step.median_ns.most, job.who(step.median_ns.most_rank)});
    out.markup("<section id=\"steps\" aria-labelledby=\"h-steps\"><div class=\"sh\"><h2 "
               "id=\"h-steps\">Steps</h2><span class=\"mut\">NVTX ranges that several ranks have</span></div>");
    if (table.rows.empty())
        out.element("p class=\"none\"", "No NVTX range is on several ranks.");
    else
        write_table(out, table, "umadvisor report --all");
    out.markup("</section>");
}

} // namespace

std::string job_page(const Comparison& comparison, std::string_view version, const PageOfTrace& page_of) {
    const Job job(comparison);
    Markup out;
    begin_page(out,
               fmt::format("{}, {}", comparison.program(), text::count_text(comparison.ranks().size(), "rank")),
               {{"ranks", "Ranks"}, {"waits", "Waits"}, {"findings", "Findings"}, {"steps", "Steps"}}, "");
    write_job_head(out, job);
    write_ranks(out, job, page_of);
    write_waits(out, job);
    write_shared_findings(out, job);
    write_shared_steps(out, job);
    end_page(out, {fmt::format("umadvisor {} · report of a job", version)}, nlohmann::ordered_json::object());
    return out.str();
}

} // namespace umadvisor::html
