#include "analyzer/patch/patch.hpp"

#include "analyzer/advice/resolved.hpp"
#include "analyzer/patch/makers.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/figures.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace umadvisor::patch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_changed_lines = 12;
constexpr std::size_t largest_source = 4 << 20;

using Language = symbols::Language;

/// A file that findings edit.
struct Source {
    std::unique_ptr<Syntax> syntax;
    Grammar grammar{};
    std::string relative; ///< to the root
    std::vector<TextEdit> edits;
    std::string notes;                ///< on its findings, before its section
    std::set<std::string> introduced; ///< variables that the edits declare
};

/// Returns whether it is UTF-8 without control characters but tabs and ends of lines: what is printed is what
/// was read.
bool is_plain(const std::string& text) {
    for (std::string_view rest = text; !rest.empty();) {
        const trace::CodePoint point = trace::code_point(rest);
        if (point.bytes == 0 || (trace::is_control(point.code) && point.code != '\n' && point.code != '\t'))
            return false;
        rest.remove_prefix(point.bytes);
    }
    return true;
}

/// All lines of a finding that an edit may touch.
std::vector<const advice::ResolvedPlace*> edited_lines(const advice::ResolvedFinding& finding) {
    std::vector<const advice::ResolvedPlace*> lines{&finding.line};
    for (const advice::ResolvedEdit& edit : finding.remedy)
        lines.push_back(&edit.at);
    return lines;
}

/// How many of the calls that a finding would remove stay, where its edit says so.
std::optional<std::uint64_t> needed_calls(const rules::Finding& finding) {
    const auto transfers =
        std::ranges::find(finding.evidence, "transfers", &std::pair<std::string_view, double>::first);
    const std::vector<timeline::Change>& changes = finding.edit.changes;
    if (transfers == finding.evidence.end() || changes.size() != 1 || changes.front().share <= 0)
        return std::nullopt;
    return static_cast<std::uint64_t>(
        std::llround(transfers->second / changes.front().share - transfers->second));
}

class Builder {
public:
    Builder(advice::Report& report, const Options& options) : report_(report), options_(options) {
        const bool known = !report.trace.dictionary.devices.empty();
        device_ = known && report.profile.uses_first_device_only() ? "0" : "";
    }

    /// Why it is not patched; empty: it is.
    std::string add(const rules::Finding& finding, std::size_t number) {
        const advice::ResolvedFinding resolved = advice::resolve(report_, finding);
        const Language language = resolved.line.place.language;
        if (!is_known(finding.rule->id, language))
            return "a patch for its remedy is not known";
        const std::string path = resolved.line.place.file;
        for (const advice::ResolvedPlace* const line : edited_lines(resolved))
            if (line->place.file != path)
                return "its lines are in several files";
        std::string why;
        Source* const source = source_of(resolved.line.place, why);
        if (source == nullptr)
            return why;
        Request request{resolved, *source->syntax, device_, report_.symbolizer.places(resolved.line.stack)};
        for (const rules::Finding& other : report_.findings)
            if (other.rule == finding.rule && needed_calls(other))
                if (const symbols::CodePlace place = report_.symbolizer.line(other.stack); place.file == path)
                    request.needed.push_back({place.line, *needed_calls(other)});
        for (const advice::ResolvedEdit& edit : resolved.remedy)
            request.remedy_stacks.push_back(report_.symbolizer.places(edit.at.stack));
        Draft made = draft(language, request);
        if (!made.refused.empty())
            return made.refused;
        const bool occupied = std::ranges::any_of(made.edits, [source](const TextEdit& edit) {
            return std::ranges::any_of(source->edits, [&edit](const TextEdit& other) {
                const bool shared = edit == other && !edit.text.empty();
                return overlap(edit, other) && !shared;
            });
        });
        if (occupied)
            return "a finding that saves more changes the same lines";
        for (const std::string& name : made.introduces)
            if (source->introduced.contains(name))
                return fmt::format("another patch declares {}, too", name);
        const std::string& before = source->syntax->text();
        if (Syntax(applied(before, made.edits), source->grammar).errors() > source->syntax->errors())
            return "the edited source would not parse";
        if (changed_lines(before, made.edits) > most_changed_lines)
            return "its patch would be longer than a patch should be";
        own_diff_ = note(finding, number, resolved, made) + "\n" +
                    unified_diff(source->relative, source->syntax->text(), made.edits);
        std::erase_if(made.edits, [source](const TextEdit& edit) { // what several findings need once
            return std::ranges::find(source->edits, edit) != source->edits.end();
        });
        source->introduced.insert(made.introduces.begin(), made.introduces.end());
        source->edits.insert(source->edits.end(), made.edits.begin(), made.edits.end());
        source->notes += note(finding, number, resolved, made);
        return {};
    }

    /// Of the finding that was added last, alone.
    const std::string& own_diff() const { return own_diff_; }

    std::string diff() const {
        std::string text;
        for (const auto& [path, source] : sources_)
            if (source.syntax && !source.edits.empty())
                text +=
                    source.notes + "\n" + unified_diff(source.relative, source.syntax->text(), source.edits);
        return text;
    }

private:
    /// Null where it may not be patched; `why` says why.
    Source* source_of(const symbols::CodePlace& place, std::string& why) {
        const std::string path = place.file;
        if (path.empty()) {
            why = "its line is not known";
            return nullptr;
        }
        std::error_code error;
        const fs::path real = fs::canonical(path, error);
        Source& source = sources_[real.string()];
        if (source.syntax)
            return &source;
        const fs::path relative = real.lexically_relative(options_.source_root);
        if (error)
            why = fmt::format("{} is not on this machine", path);
        else if (relative.empty() || relative.begin()->string() == "..")
            why = fmt::format("{} is outside {} (--source-root)", real.string(), options_.source_root);
        else if (const std::string& text = report_.symbolizer.source_file(place); text.empty())
            why = "the source changed after the run, or may not be shown";
        else if (text.size() > largest_source)
            why = "the source is larger than 4 MiB";
        else if (!is_plain(text))
            why = "the source is not UTF-8 with line ends of Unix, or has control characters";
        else {
            source.grammar = place.language == Language::python ? Grammar::python : Grammar::cuda;
            source.syntax = std::make_unique<Syntax>(text, source.grammar);
            source.relative = relative.string();
            return &source;
        }
        return nullptr;
    }

    std::string note(const rules::Finding& finding, std::size_t number, const advice::ResolvedFinding& resolved,
                     const Draft& draft) const {
        std::string text = reader::plain(fmt::format(
                               "{}. {} {}, {}: {}{}", number, finding.rule->id, finding.title,
                               resolved.line.text(), text::saving_lead(finding.saving_ns, finding.saving_bytes),
                               text::saving_text(finding.saving_ns, finding.saving_bytes))) +
                           "\n";
        for (const std::string& each : draft.assumes)
            text += reader::plain("It assumes that " + each + ".") + "\n";
        return text;
    }

    advice::Report& report_;
    const Options& options_;
    std::string own_diff_; ///< of the finding that was added last
    std::string device_;
    std::map<std::string, Source> sources_; ///< by path
};

} // namespace

bool available() {
    return true;
}

Patches make_patches(advice::Report& report, const Options& options) {
    Patches patches;
    Builder builder(report, options);
    std::size_t number = 0;
    for (const rules::Finding& finding : report.findings) {
        if (++number != options.number.value_or(number))
            continue;
        if (std::string why = builder.add(finding, number); why.empty())
            patches.made.push_back({&finding, builder.own_diff()});
        else
            patches.unpatched.push_back(
                {&finding, finding.stack.known() ? report.symbolizer.line(finding.stack).text() : "",
                 std::move(why)});
    }
    patches.diff = builder.diff();
    return patches;
}

} // namespace umadvisor::patch
