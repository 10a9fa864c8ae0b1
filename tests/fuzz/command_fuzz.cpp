/// Runs every command line that reads a trace on damaged traces and says what must not have happened: signals,
/// sanitizer reports, control bytes, broken JSON, too much time, memory or output. JSON lines; exit status 1 if
/// anything did.
#include "batches.hpp"
#include "reduce.hpp"
#include "trial.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
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

/// The input with as little of its trace as fails in the same way.
fuzz::Input reduced(fuzz::Input input, const fuzz::CommandLine& line, const std::string& kind) {
    input.trace = fuzz::reduced(input.trace, [&](const fuzz::Bytes& bytes) {
        fuzz::Input smaller = input;
        smaller.trace = bytes;
        const auto found =
            fuzz::run_batches(0, 1, 1, [&](std::uint64_t) { return fuzz::run(line, smaller).objections; });
        return std::ranges::any_of(
            found, [&](const fuzz::Failure& failure) { return failure.objection.kind == kind; });
    });
    return input;
}

void keep(const fuzz::Input& input, const std::string& path) {
    std::ofstream(path + ".umtrace", std::ios::binary)
        .write(reinterpret_cast<const char*>(input.trace.data()),
               static_cast<std::streamsize>(input.trace.size()));
    std::ofstream(path + ".json") << input.baseline;
}

void print(const nlohmann::ordered_json& line) {
    std::cout << line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

int run(const Options& options, const fuzz::Bytes& replayed) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<fuzz::CommandLine> lines = chosen_lines(options.only);
    const fuzz::Inputs inputs(options.seed, fuzz::starting_traces(UMADVISOR_GOLDEN, UMADVISOR_CORPUS));
    const auto line_of = [&](std::uint64_t number) -> const fuzz::CommandLine& {
        return lines[number % lines.size()];
    };
    const auto input_of = [&](std::uint64_t number) {
        fuzz::Input input = inputs.make(number);
        if (!replayed.empty()) {
            input.trace = replayed;
            input.trace_name = "trace.umtrace";
        }
        return input;
    };
    const std::uint64_t end = options.first + (replayed.empty() ? options.inputs : lines.size());
    const std::vector<fuzz::Failure> failures =
        fuzz::run_batches(options.first, end, batch, [&](std::uint64_t number) {
            return fuzz::run(line_of(number), input_of(number)).objections;
        });

    std::map<std::string, std::map<std::string, std::uint64_t>> runs,
        failed; // by subcommand and what follows; by kind and line
    for (std::uint64_t number = options.first; number < end; ++number)
        ++runs[line_of(number).arguments.front()][line_of(number).name()];
    for (const auto& [number, objection] : failures) {
        const std::uint64_t before = failed[objection.kind][line_of(number).name()]++;
        if (before >= kept)
            continue;
        fuzz::Input input = input_of(number);
        print({{"failure", objection.kind},
               {"command", line_of(number).name()},
               {"number", number},
               {"file", input.trace_name},
               {"other", input.other_name},
               {"detail", objection.detail}});
        if (options.reduce)
            input = reduced(std::move(input), line_of(number), objection.kind);
        if (!options.folder.empty())
            keep(input, options.folder + "/" + std::to_string(options.seed) + "-" + std::to_string(number));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    print({{"run",
            {{"suite", "contact"},
             {"seed", options.seed},
             {"first", options.first},
             {"seconds", std::round(took.count())}}}});
    for (const auto& [command, by_line] : runs)
        print({{"command", command}, {"inputs", by_line}});
    for (const auto& [kind, by_line] : failed)
        print({{"failure", kind}, {"inputs", by_line}});
    print({{"metric", "fuzz.inputs"}, {"value", end - options.first}, {"unit", "1"}, {"n", 1}});
    print({{"metric", "fuzz.failures"}, {"value", failures.size()}, {"unit", "1"}, {"n", end - options.first}});
    return failures.empty() ? 0 : 1;
}

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
        return run(options, replayed);
    } catch (const std::exception& error) {
        std::cerr << "command_fuzz: " << error.what() << "\n";
        return 2;
    }
}
