/// Runs every command line that reads a trace on damaged traces and says what must not have happened: signals,
/// sanitizer reports, control bytes, broken JSON, too much time, memory or output. JSON lines; exit status 1 if
/// anything did.
#include "batches.hpp"
#include "reduce.hpp"
#include "trial.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace umadvisor;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t batch = 500; ///< inputs of one process
constexpr std::size_t kept = 3;      ///< inputs of one kind of failure of one command line

struct Options {
    std::uint64_t seed = 1, inputs = 3000, first = 0;
    std::string only, folder, replay;
    bool reduce = false;
};

/// The process works in it: traces lie there, and what would be the user's own folders.
class WorkingFolder {
public:
    WorkingFolder() : path_((fs::temp_directory_path() / "command-fuzz-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr || ::chdir(path_.c_str()) != 0)
            throw std::runtime_error("cannot make a temporary folder");
        ::setenv("HOME", path_.c_str(), 1);
        ::setenv("XDG_CACHE_HOME", (path_ + "/cache").c_str(), 1);
        ::setenv("XDG_CONFIG_HOME", (path_ + "/config").c_str(), 1);
        ::setenv("COLUMNS", "80", 1);
        ::unsetenv("DEBUGINFOD_URLS"); // as main() does
    }
    ~WorkingFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;

private:
    std::string path_;
};

std::vector<fuzz::CommandLine> chosen_lines(const std::string& only) {
    std::vector<fuzz::CommandLine> lines = fuzz::command_lines();
    std::erase_if(lines, [&](const fuzz::CommandLine& line) { return !line.name().starts_with(only); });
    if (lines.empty())
        throw std::runtime_error("no command line begins with " + only);
    return lines;
}

fuzz::Bytes contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void keep(const fuzz::Input& input, const std::string& path) {
    std::ofstream(path + ".umtrace", std::ios::binary)
        .write(reinterpret_cast<const char*>(input.trace.data()),
               static_cast<std::streamsize>(input.trace.size()));
    std::ofstream(path + ".json") << input.baseline;
}

void print(const nlohmann::ordered_json& line) {
    std::cout << line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
}

/// Inputs in the order of their numbers, each with the command line whose turn it is.
class Session {
public:
    Session(Options options, fuzz::Bytes replayed)
        : options_(std::move(options)),
          replayed_(std::move(replayed)),
          lines_(chosen_lines(options_.only)),
          inputs_(options_.seed, fuzz::starting_traces(UMADVISOR_GOLDEN, UMADVISOR_CORPUS)) {}

    /// Tells each failure when its batch is done, and at the end what there was. Returns the exit status.
    int run() {
        const std::uint64_t end = options_.first + (replayed_.empty() ? options_.inputs : lines_.size());
        for (std::uint64_t first = options_.first; first < end; first += batch)
            for (const fuzz::Failure& failure :
                 fuzz::run_batch(first, std::min(end, first + batch), [&](std::uint64_t number) {
                     return fuzz::run(line(number), input(number)).objections;
                 }))
                tell(failure);
        tell_totals(end);
        return failures_ == 0 ? 0 : 1;
    }

private:
    const fuzz::CommandLine& line(std::uint64_t number) const { return lines_[number % lines_.size()]; }
    fuzz::Input input(std::uint64_t number) const {
        fuzz::Input made = inputs_.make(number, line(number).reads("BASELINE"));
        if (!replayed_.empty()) {
            made.trace = replayed_;
            made.trace_name = "trace.umtrace";
        }
        return made;
    }

    void tell(const fuzz::Failure& failure) {
        const auto& [number, objection] = failure;
        ++failures_;
        if (failed_[objection.kind][line(number).name()]++ >= kept)
            return;
        fuzz::Input failing = input(number);
        print({{"failure", objection.kind},
               {"command", line(number).name()},
               {"number", number},
               {"file", failing.trace_name},
               {"other", failing.other_name},
               {"detail", objection.detail}});
        if (options_.reduce)
            reduce(failing, line(number), objection.kind);
        if (!options_.folder.empty())
            keep(failing, options_.folder + "/" + std::to_string(options_.seed) + "-" + std::to_string(number));
    }
    /// Leaves as little of the trace as fails in the same way.
    static void reduce(fuzz::Input& failing, const fuzz::CommandLine& line, const std::string& kind) {
        failing.trace = fuzz::reduced(failing.trace, [&](const fuzz::Bytes& bytes) {
            fuzz::Input smaller = failing;
            smaller.trace = bytes;
            const auto found =
                fuzz::run_batch(0, 1, [&](std::uint64_t) { return fuzz::run(line, smaller).objections; });
            return std::ranges::any_of(
                found, [&](const fuzz::Failure& failure) { return failure.objection.kind == kind; });
        });
    }
    void tell_totals(std::uint64_t end) const {
        std::map<std::string, std::map<std::string, std::uint64_t>> runs; // by subcommand and command line
        for (std::uint64_t number = options_.first; number < end; ++number)
            ++runs[line(number).arguments.front()][line(number).name()];
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
        print({{"run",
                {{"suite", "contact"},
                 {"seed", options_.seed},
                 {"first", options_.first},
                 {"seconds", std::round(took.count())}}}});
        for (const auto& [command, by_line] : runs) {
            std::uint64_t all = 0;
            for (const auto& [name, count] : by_line)
                all += count;
            print({{"command", command}, {"inputs", all}, {"by_line", by_line}});
        }
        for (const auto& [kind, by_line] : failed_)
            print({{"failures", kind}, {"by_line", by_line}});
        const std::uint64_t inputs = end - options_.first;
        print({{"metric", "fuzz.inputs"}, {"value", inputs}, {"unit", "1"}, {"n", 1}});
        print({{"metric", "fuzz.failures"}, {"value", failures_}, {"unit", "1"}, {"n", inputs}});
    }

    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    Options options_;
    fuzz::Bytes replayed_;
    std::vector<fuzz::CommandLine> lines_;
    fuzz::Inputs inputs_;
    std::map<std::string, std::map<std::string, std::uint64_t>> failed_; ///< by kind and command line
    std::uint64_t failures_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Damaged traces through every command that reads one"};
    app.add_option("--seed", options.seed, "Of the random numbers (1)");
    app.add_option("--inputs", options.inputs, "How many (3000)");
    app.add_option("--first", options.first, "Number of the first (0): seed and number tell an input");
    app.add_option("--only", options.only, "Only command lines that begin so");
    app.add_option("--folder", options.folder, "Where inputs that fail are kept");
    app.add_flag("--reduce", options.reduce, "Leave out of them what does not matter");
    app.add_option("--replay", options.replay, "A trace: each command line on it, in place of inputs");
    CLI11_PARSE(app, argc, argv);
    try {
        if (!options.folder.empty()) {
            options.folder = fs::absolute(options.folder);
            fs::create_directories(options.folder);
        }
        const fuzz::Bytes replayed = contents(options.replay);
        const WorkingFolder folder;
        return Session(options, replayed).run();
    } catch (const std::exception& error) {
        std::cerr << "command_fuzz: " << error.what() << "\n";
        return 2;
    }
}
