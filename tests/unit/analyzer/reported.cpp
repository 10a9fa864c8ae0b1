#include "reported.hpp"

#include "analyzer/advice/findings.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/words.hpp"

#include <cstdlib>
#include <fstream>
#include <set>

namespace umadvisor::test {
namespace {

/// Advice for a calibrated card tells no figure of the card whose prices hold where nothing was calibrated.
void write_figures(const std::string& path, std::ostream& out) {
    machine::Rates other;
    std::vector<std::string> usual{"H200"};
    machine::Rates::each(other, [&usual](std::string_view name, double& value) {
        // Reports say how fast a trace's own pageable copies were as it was measured, and scenarios have the
        // H200's.
        if (value > 0 && name.ends_with("bytes_per_s") && name.find("pageable") == std::string_view::npos)
            usual.push_back(" " + text::rate_text(value));
        value *= 1.0371;
    });
    other.device = "Odd Card";
    reader::Trace trace(path);
    const rules::Profile profile(trace, nullptr, other);
    const auto line_of = [](ids::StackId stack) { return stack; };
    for (const rules::Finding& finding : advice::find_all(profile, line_of).all) {
        std::string text = finding.title + "\n" + finding.summary + "\n" + finding.advice + "\n" +
                           finding.basis + "\n" + finding.allocation_text;
        for (const std::string& detail : finding.details)
            text += "\n" + detail;
        for (const std::string& figure : usual)
            if (text.find(figure) != std::string::npos)
                out << "figure " << finding.rule->id << " tells " << figure << "\n";
    }
}

} // namespace

void write_reported(const std::string& test, const std::string& trace,
                    const std::vector<rules::Finding>& found) {
    const char* const file = std::getenv("UMADVISOR_REPORTED");
    if (file == nullptr)
        return;
    std::ofstream out(file, std::ios::app);
    static std::set<std::string_view> seen;
    bool first = false;
    out << test << ":";
    for (const rules::Finding& finding : found) {
        out << " " << finding.rule->id;
        first |= seen.insert(finding.rule->id).second;
    }
    out << "\n";
    if (first)
        write_figures(trace, out);
}

} // namespace umadvisor::test
