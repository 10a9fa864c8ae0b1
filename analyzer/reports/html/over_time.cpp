#include "analyzer/reports/html/over_time.hpp"

#include "analyzer/reports/html/parts.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::html {
namespace {

static_assert(OverTime::host_states == causes);

/// Colours without a texture, which would be stretched along with the picture.
constexpr std::array<std::string_view, OverTime::host_states> host_colours{
    "c-code", "b-hfault", "b-dfault", "c-kwait", "c-fill", "c-alloc", "b-launch", "c-start"};
constexpr std::array<std::string_view, OverTime::device_states> device_colours{"c-kernel", "b-dfault",
                                                                               "c-fill"};
constexpr std::array<std::string_view, OverTime::device_states> device_words{
    "kernel runs", "stalled by page faults", "fill or copy"};

template <std::size_t states>
std::vector<std::array<float, states>> columns_of(const PieceRow& row) {
    std::vector<std::array<float, states>> columns(OverTime::columns);
    const double bins = static_cast<double>(row.bins()) / OverTime::columns; // of a column
    for (std::size_t column = 0; column < OverTime::columns; ++column)
        for_bins({0, static_cast<double>(row.bins())}, row.bins(), static_cast<double>(column) * bins,
                 static_cast<double>(column + 1) * bins, [&](std::size_t bin, double part) {
                     for (std::size_t state = 0; state < states; ++state)
                         columns[column][state] += static_cast<float>(part / bins) * row.share(state, bin);
                 });
    return columns;
}

OverTime over_time(const Timeline& timeline) {
    OverTime result{timeline.span.length(), {}, {}};
    if (timeline.main < timeline.threads.size() && timeline.threads[timeline.main])
        result.host = columns_of<OverTime::host_states>(timeline.threads[timeline.main]->causes);
    const StreamRow* busiest = nullptr;
    const auto busy_ns = [](const StreamRow& stream) {
        return stream.work.ns(0) + stream.work.ns(1) + stream.work.ns(2);
    };
    for (const std::unique_ptr<StreamRow>& stream : timeline.streams)
        if (stream && (busiest == nullptr || busy_ns(*stream) > busy_ns(*busiest)))
            busiest = stream.get();
    if (busiest != nullptr)
        result.device = columns_of<OverTime::device_states>(busiest->work);
    return result;
}

/// `share`: of the width, the longer run has all of it. States lie on each other; what goes on alike is one
/// rectangle.
template <std::size_t states>
void write_row(Markup& out, const std::vector<std::array<float, states>>& columns,
               const std::array<std::string_view, states>& colours, double share, int height,
               const std::string& label) {
    out.markup(fmt::format("<svg class=\"over\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
                           "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
                           percent(share), height, OverTime::columns, height));
    out.text(label).markup("\">");
    for (std::size_t state = 0; state < states; ++state) {
        std::string path;
        const auto at = [&](std::size_t column) {
            double low = 0;
            for (std::size_t below = 0; below < state; ++below)
                low += columns[column][below];
            return std::pair(std::lround(low * height * 4),
                             std::lround((low + columns[column][state]) * height * 4)); // in quarters
        };
        for (std::size_t from = 0, column = 0; column < columns.size(); from = column) {
            const auto [low, high] = at(from);
            while (column < columns.size() && at(column) == std::pair(low, high))
                ++column;
            if (high > low)
                path += fmt::format("M{} {:g}h{}v{:g}h-{}z", from, height - static_cast<double>(high) / 4,
                                    column - from, static_cast<double>(high - low) / 4, column - from);
        }
        if (!path.empty())
            out.markup("<path class=\"").markup(colours[state]).markup("\" d=\"" + path + "\"/>");
    }
    out.markup("</svg>");
}

template <std::size_t states>
std::array<double, states> ns_of(const std::vector<std::array<float, states>>& columns, double ns) {
    std::array<double, states> sums{};
    for (const auto& column : columns)
        for (std::size_t state = 0; state < states; ++state)
            sums[state] += column[state] * ns / OverTime::columns;
    return sums;
}

void write_item(Markup& out, std::string_view colour, std::string_view words, double before, double after) {
    if (before <= 0 && after <= 0)
        return;
    out.markup("<li><svg class=\"sw\" aria-hidden=\"true\"><rect class=\"").markup(colour);
    out.markup("\" width=\"100%\" height=\"100%\"/></svg>").text(words).markup(" ");
    out.element("b", text::time_text(before) + " → " + text::time_text(after)).markup("</li>");
}

} // namespace

OverTimePass::OverTimePass() = default;
OverTimePass::~OverTimePass() = default;

std::function<void()> OverTimePass::beside(advice::Report& report) {
    pass_ = std::make_unique<TimelinePass>(report);
    return [this] { pass_->run(); };
}

void OverTimePass::finish(advice::Report& report) {
    report.finish_beside();
    made_ = over_time(pass_->finish());
}

void write_over_time(Markup& out, const OverTime& before, const OverTime& after) {
    const double longest = std::max({before.ns, after.ns, 1.0});
    out.markup(
        "<section id=\"over-time\" aria-labelledby=\"h-over-time\"><div class=\"sh\"><h2 "
        "id=\"h-over-time\">Over time</h2><span class=\"mut\">main thread, and below it the busiest stream; "
        "both runs from their beginning and with the start of CUDA, on one scale</span></div><div "
        "class=\"panel "
        "runs\">");
    for (const auto& [name, run] : {std::pair("before", &before), std::pair("after", &after)}) {
        out.element("div class=\"k\"", name).markup("<div>");
        write_row(out, run->host, host_colours, run->ns / longest, 34, std::string(name) + ": main thread");
        if (!run->device.empty())
            write_row(out, run->device, device_colours, run->ns / longest, 16,
                      std::string(name) + ": busiest stream");
        out.markup("</div>");
    }
    const auto host_before = ns_of(before.host, before.ns), host_after = ns_of(after.host, after.ns);
    out.markup("</div><ul class=\"lg pairs\">");
    for (std::size_t cause = 0; cause < OverTime::host_states; ++cause)
        write_item(out, host_colours[cause], cause_words[cause].name, host_before[cause], host_after[cause]);
    const auto device_before = ns_of(before.device, before.ns), device_after = ns_of(after.device, after.ns);
    for (std::size_t state = 0; state < OverTime::device_states; ++state)
        write_item(out, device_colours[state], fmt::format("stream: {}", device_words[state]),
                   device_before[state], device_after[state]);
    out.markup("</ul></section>");
}

} // namespace umadvisor::html
