/// Statements of Python that cost far more than the CUDA calls that they make, in every round, and that could
/// go.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/python_framework.hpp"
#include "analyzer/symbols/python_stack.hpp"

#include <algorithm>
#include <cstddef>
#include <fnmatch.h>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

using Kind = PythonSite::Kind;
using symbols::PythonFramework;

constexpr std::uint64_t least_logs = 100, least_batches = 8;
/// A line of logging code is reported if it costs at least this share of the run beside the round's work.
constexpr double least_logging_of_run = 0.02;

/// Code that keeps records of a run, by the names under which it is installed; `function`: only there.
constexpr struct LoggingCode {
    const char *file, *function;
    bool lightning; ///< PyTorch Lightning's: packages lightning and pytorch_lightning
} logging_code[] = {
    {"*/trainer/connectors/logger_connector/*", "*", true},
    {"*-packages/lightning/pytorch/core/module.py", "LightningModule.log*", true},
    {"*-packages/pytorch_lightning/core/module.py", "LightningModule.log*", true},
    {"*-packages/lightning/pytorch/loggers/*", "*", true},
    {"*-packages/pytorch_lightning/loggers/*", "*", true},
    {"*-packages/wandb/*", "*", false},
    {"*-packages/mlflow/*", "*", false},
    {"*-packages/tensorboard/*", "*", false},
    {"*-packages/tensorboardX/*", "*", false},
    {"*-packages/torch/utils/tensorboard/*", "*", false},
};

} // namespace

PythonFramework innermost_framework(const reader::Dictionary& dictionary, ids::StackId stack) {
    const auto joined = dictionary.frames.find(stack.number());
    if (joined == dictionary.frames.end())
        return PythonFramework::none;
    std::size_t depth = 0;
    for (std::uint64_t id = joined->second.parent; id != 0 && depth < symbols::deepest; ++depth) {
        const auto frame = dictionary.frames.find(id);
        if (frame == dictionary.frames.end())
            break;
        if (const auto module = dictionary.modules.find(frame->second.module);
            module != dictionary.modules.end())
            if (const PythonFramework known = symbols::framework_of(std::string(module->second.path));
                known != PythonFramework::none)
                return known;
        id = frame->second.parent;
    }
    return PythonFramework::none;
}

namespace {

/// The logging code that Python runs there, Lightning's if any is; null: none.
const LoggingCode* logging_at(const reader::Dictionary& dictionary, ids::StackId stack) {
    const LoggingCode* logs = nullptr;
    const auto joined = dictionary.frames.find(stack.number());
    if (joined == dictionary.frames.end())
        return logs;
    std::size_t depth = 0;
    for (std::uint64_t id = joined->second.python; id != 0 && depth < symbols::deepest; ++depth) {
        const auto frame = dictionary.python_frames.find(id);
        if (frame == dictionary.python_frames.end())
            break;
        if (const auto code = dictionary.python_codes.find(frame->second.code);
            code != dictionary.python_codes.end()) {
            const std::string file(code->second.file), function(code->second.function);
            for (const LoggingCode& known : logging_code)
                if (::fnmatch(known.file, file.c_str(), 0) == 0 &&
                    ::fnmatch(known.function, function.c_str(), 0) == 0 && (logs == nullptr || known.lightning))
                    logs = &known;
        }
        id = frame->second.parent;
    }
    return logs;
}

const char* keep_constant(PythonFramework framework) {
    switch (framework) {
    case PythonFramework::torch:
        return "make the tensor once, before the loop, and keep it on the device (in a module: "
               "register_buffer); where it is one number, write the number: x * 0.5 needs no tensor. Note: "
               "torch.tensor(list, device=device) and torch.tensor(list).to(device) build it, upload it and "
               "wait for it each time";
    case PythonFramework::cupy:
        return "call cupy.asarray once, before the loop, and keep the result; where it is one number, write "
               "the number: x * 0.5 needs no array";
    case PythonFramework::jax:
        return "call jnp.asarray once, before the loop, and pass the result; in a jitted function a NumPy "
               "constant becomes part of the compiled program";
    case PythonFramework::numba:
        return "call cuda.to_device once, before the loop, and pass what it returns; numbers are passed as "
               "they are";
    case PythonFramework::none:
        break;
    }
    return "copy it to the device once, before the loop, and keep it there";
}

const char* pin_ahead(PythonFramework framework) {
    if (framework == PythonFramework::torch)
        return "pin the data once, before the loop (data = [d.pin_memory() for d in data], or torch.empty(..., "
               "pin_memory=True) filled in place), or let another thread do it: DataLoader(..., "
               "pin_memory=True). Note: .pin_memory() is a copy of its own, and the line waits for it";
    if (framework == PythonFramework::cupy)
        return "keep the host's array page-locked: cupyx.empty_pinned once, filled in place, instead of a copy "
               "to page-locked memory in each round";
    return "fill the page-locked memory ahead of the round that uploads it: once, or in another thread";
}

/// A line, and what of it could go.
struct StatementLine {
    StatementTime time;
    std::uint64_t rounds = 0, bytes = 0;
    PythonFramework framework{};
    bool lightning = false;
    EditedCalls calls;
};

Finding begin_statement(const StatementLine& line, double statement_ns) {
    Finding finding;
    finding.evidence = {{"rounds", static_cast<double>(line.rounds)},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"call_ns", line.time.call_ns},
                        {"statement_ns", statement_ns}};
    finding.statement_ns = finding.saving_ns = statement_ns;
    finding.confidence = Confidence::medium;
    return finding;
}

std::string sure_time_text(const PythonStatements& statements) {
    return "from the first call of the line to its last, and before the first the time that this program needs "
           "between two calls of one line (" +
           time_text(statements.usual_ns()) + "), as gained in a replay of the run without them";
}

std::vector<Finding> constant_uploads(const Profile& profile, const LineOf& line_of,
                                      const PythonStatements& statements) {
    std::map<ids::StackId, StatementLine> lines;
    for (const PythonSite& site : profile.counted<Statements>().sites()) {
        if (!is_constant_upload(site))
            continue;
        StatementLine& line = lines[line_of(site.site.stack)];
        line.time.add(statements.of_copy(site, line.calls));
        line.rounds = std::max(line.rounds, site.count);
        line.bytes += site.bytes;
        line.framework = innermost_framework(profile.dictionary(), site.site.stack);
    }
    const auto judge = [&](const Profile&, ids::StackId, const StatementLine& line) {
        const double ns = line.time.sum_ns();
        Finding finding = begin_statement(line, ns);
        finding.title = "a constant built and uploaded in every round";
        finding.summary = fmt::format(
            "this line uploads the same {} {}: {} of the host's time in each round (the copy takes {})",
            bytes_text(static_cast<double>(line.bytes) / static_cast<double>(line.time.calls)),
            count_text(line.time.calls, "time"), time_text(ns / static_cast<double>(line.rounds)),
            time_text(line.time.call_ns / static_cast<double>(line.rounds)));
        finding.advice = keep_constant(line.framework);
        finding.edit = line.calls.gone(profile);
        finding.basis = sure_time_text(statements);
        return finding;
    };
    return judge_lines(uma_116, profile, lines, judge);
}

std::vector<Finding> logging(const Profile& profile, const LineOf& line_of,
                             const PythonStatements& statements) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    std::vector<bool> in_logging(sites.size());
    std::map<ids::StackId, StatementLine> lines;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const LoggingCode* const code =
            sites[i].count >= least_logs ? logging_at(profile.dictionary(), sites[i].site.stack) : nullptr;
        in_logging[i] = code != nullptr;
        if (code == nullptr)
            continue;
        StatementLine& line = lines[line_of(sites[i].site.stack)];
        line.lightning |= code->lightning;
        line.time.call_ns += static_cast<double>(profile.nanoseconds(sites[i].ticks));
        line.time.calls += sites[i].count;
        line.rounds = std::max(line.rounds, sites[i].count);
        line.bytes += sites[i].bytes;
        line.calls.add(sites[i].site, sites[i].count, sites[i].count);
    }
    if (lines.empty())
        return {};
    for (const auto& [step, gap] : profile.counted<Statements>().steps()) {
        if (!in_logging[step.second])
            continue;
        const ids::StackId line = line_of(sites[step.second].site.stack);
        double ns = static_cast<double>(profile.estimated_nanoseconds(gap.median()));
        // Between a later call and an earlier one a round may have ended.
        if (!in_logging[step.first] || step.first >= step.second ||
            line_of(sites[step.first].site.stack) != line)
            ns = std::min(ns, statements.usual_ns());
        lines[line].time.before_ns += ns * static_cast<double>(gap.count());
        lines[line].calls.add_time_before(sites[step.second].site, ns * static_cast<double>(gap.count()));
    }
    const auto judge = [&](const Profile&, ids::StackId, const StatementLine& line) -> std::optional<Finding> {
        const double ns = line.time.sum_ns();
        if (ns < least_logging_of_run * static_cast<double>(profile.net_ns()))
            return std::nullopt;
        Finding finding = begin_statement(line, ns);
        finding.title = "values are logged in every round";
        finding.summary = fmt::format(
            "logging on this line takes {} of the host's time in each of {} (its CUDA calls take {})",
            time_text(ns / static_cast<double>(line.rounds)), count_text(line.rounds, "round"),
            time_text(line.time.call_ns / static_cast<double>(line.rounds)));
        finding.advice = line.lightning ? "log only every k-th round (if batch_idx % 100 == 0: self.log(...)), "
                                          "and turn the progress bar "
                                          "off or refresh it as rarely (Trainer(enable_progress_bar=False), "
                                          "RichProgressBar(refresh_rate=100), self.log(..., prog_bar=False))"
                                        : "log only every k-th round (if step % 100 == 0: ...)";
        finding.edit = line.calls.gone(profile);
        finding.basis = fmt::format(
            "from the first call of the logging code to its last, and before the first the time that this "
            "program needs between two calls of one line ({}); the time after its last call is not counted",
            time_text(statements.usual_ns()));
        return finding;
    };
    return judge_lines(uma_116, profile, lines, judge, 0);
}

bool locks_pages(const reader::Dictionary& dictionary, const PythonSite& site) {
    const std::string_view symbol = dictionary.symbol(site.site.entry);
    return symbol.starts_with("cuMemHostAlloc") || symbol.starts_with("cuMemAllocHost");
}

/// Of a line that fills page-locked memory just before it uploads it.
struct FilledLine : StatementLine {
    double fill_ns = 0, lock_ns = 0;
    std::uint64_t fills = 0, locks = 0, repeated = 0;
    std::uint64_t left_out = 0; ///< uploads that need not be made at all, as other rules say
    timeline::Edit edit;
};

void add_locks(FilledLine& line, const Profile& profile, const PythonSite& site) {
    if (site.count < 2)
        return;
    const auto count = static_cast<double>(site.count);
    line.locks += site.count;
    line.lock_ns += static_cast<double>(profile.nanoseconds(site.ticks)) * (count - 1) / count;
    timeline::Change gone;
    gone.site = site.site;
    gone.what = timeline::Change::What::gone;
    gone.share = (count - 1) / count; // one stays
    line.edit.changes.push_back(gone);
}

std::vector<Finding> filled_batches(const Profile& profile, const LineOf& line_of) {
    const std::vector<PythonSite>& sites = profile.counted<Statements>().sites();
    std::map<ids::StackId, FilledLine> lines;
    const std::map<ids::CallSite, std::uint64_t> needless = needless_uploads(profile);
    for (const auto& [site, fills] : fills_before_uploads(profile)) {
        const PythonSite& copy = *profile.counted<Statements>().find(site);
        const auto out = needless.find(site);
        const std::uint64_t left_out = out == needless.end() ? 0 : std::min(out->second, copy.count);
        const double kept = 1 - static_cast<double>(left_out) / static_cast<double>(copy.count);
        FilledLine& line = lines[line_of(site.stack)];
        line.rounds += copy.count - left_out;
        line.fills += static_cast<std::uint64_t>(kept * static_cast<double>(fills.count));
        line.fill_ns += kept * fills.ns;
        line.bytes += static_cast<std::uint64_t>(kept * static_cast<double>(copy.bytes));
        line.repeated += copy.content.repeated;
        line.left_out += left_out;
        line.time.call_ns += kept * static_cast<double>(profile.nanoseconds(copy.ticks));
        line.framework = innermost_framework(profile.dictionary(), site.stack);
        timeline::Change sooner;
        sooner.site = site;
        sooner.what = timeline::Change::What::shorter;
        sooner.share = kept;
        sooner.less_before_ns = fills.ns / static_cast<double>(copy.count);
        line.edit.changes.push_back(sooner);
    }
    for (const PythonSite& site : sites)
        if (const auto line = lines.find(line_of(site.site.stack));
            line != lines.end() && locks_pages(profile.dictionary(), site))
            add_locks(line->second, profile, site);
    const auto judge = [&](const Profile&, ids::StackId, const FilledLine& line) -> std::optional<Finding> {
        const double ns = line.fill_ns + line.lock_ns;
        if (line.fills < least_batches || 2 * line.fills < line.rounds)
            return std::nullopt;
        Finding finding = begin_statement(line, ns);
        finding.title = "page-locked memory is filled by the line that uploads it";
        finding.summary =
            fmt::format("each of {} of {} follows a copy on the host to page-locked memory, {} each",
                        count_text(line.rounds, "upload"),
                        bytes_text(static_cast<double>(line.bytes) / static_cast<double>(line.rounds)),
                        time_text(line.fill_ns / static_cast<double>(line.fills)));
        if (line.locks != 0)
            finding.summary += fmt::format("; the line page-locks more memory {} times, {} beyond the first",
                                           line.locks, time_text(line.lock_ns));
        finding.evidence.emplace_back("fill_ns", line.fill_ns);
        finding.evidence.emplace_back("lock_ns", line.lock_ns);
        if (line.left_out == 0 && 2 * line.repeated > line.rounds)
            finding.details.push_back(
                fmt::format("{} of the uploads repeat bytes that had been uploaded before", line.repeated));
        finding.advice = pin_ahead(line.framework);
        finding.edit = line.edit;
        finding.basis = "replay of the run without these copies on the host and without page-locking after the "
                        "first time; the cost of pinning before the loop is not counted";
        return finding;
    };
    return judge_lines(uma_116, profile, lines, judge);
}

std::vector<Finding> awaited_uploads(const Profile& profile, const LineOf& line_of) {
    std::map<ids::StackId, std::pair<StatementLine, AwaitedUploads>> lines;
    for (const PythonSite& site : profile.counted<Statements>().sites()) {
        const AwaitedUploads& more = site.awaited;
        if (more.uploads == 0)
            continue;
        auto& [line, awaited] = lines[line_of(site.site.stack)];
        line.framework = innermost_framework(profile.dictionary(), site.site.stack);
        awaited.rounds += more.rounds;
        awaited.uploads += more.uploads;
        awaited.bytes += more.bytes;
        awaited.ticks += more.ticks;
        awaited.content.looked += more.content.looked;
        awaited.content.repeated += more.content.repeated;
    }
    const auto judge = [&](const Profile&, ids::StackId, const auto& found) -> std::optional<Finding> {
        auto [line, awaited] = found;
        const auto ns = static_cast<double>(profile.nanoseconds(awaited.ticks));
        if (awaited.rounds < least_batches)
            return std::nullopt;
        line.rounds = awaited.uploads;
        line.bytes = awaited.bytes;
        Finding finding = begin_statement(line, ns);
        finding.title = "arguments in the host's memory are uploaded by the call that needs them";
        finding.summary =
            fmt::format("{} of {} on average, in threads of the framework: this line waits {} in all until "
                        "they have started",
                        count_text(awaited.uploads, "upload"),
                        bytes_text(static_cast<double>(awaited.bytes) / static_cast<double>(awaited.uploads)),
                        time_text(ns));
        finding.advice =
            line.framework == PythonFramework::jax
                ? "call jax.device_put(argument) once, before the loop, and pass the result: a NumPy argument "
                  "of a "
                  "jitted function is uploaded by every call. If it changes in each round, "
                  "jax.device_put the next one while this round is computed"
                : "move the arguments to the device once, before the loop, and pass the device arrays";
        const bool same = awaited.content.looked != 0 && 2 * awaited.content.repeated >= awaited.content.looked;
        if (same)
            finding.details.push_back(
                fmt::format("{} of {} comparisons found that the bytes had been uploaded before",
                            awaited.content.repeated, awaited.content.looked));
        finding.basis = "the time for which this line's thread made no call, because it waited until the "
                        "uploads were queued";
        finding.confidence = same ? Confidence::medium : Confidence::low;
        return finding;
    };
    return judge_lines(uma_116, profile, lines, judge);
}

} // namespace

std::vector<Finding> find_python_statements(const Profile& profile, const LineOf& line_of) {
    if (profile.counted<Statements>().sites().empty())
        return {};
    const PythonStatements statements(profile, line_of);
    std::vector<Finding> findings = constant_uploads(profile, line_of, statements);
    std::ranges::move(logging(profile, line_of, statements), std::back_inserter(findings));
    std::ranges::move(filled_batches(profile, line_of), std::back_inserter(findings));
    std::ranges::move(awaited_uploads(profile, line_of), std::back_inserter(findings));
    std::ranges::move(element_loops(profile, line_of, statements), std::back_inserter(findings));
    return findings;
}

constinit const Rule uma_116{.id = "UMA-116",
                             .name = "python-statement",
                             .title = "a statement costs far more than its CUDA calls",
                             .find = &find_python_statements,
                             .counter = &count<Statements>,
                             .order = OrderUse::wait};

} // namespace umadvisor::rules
