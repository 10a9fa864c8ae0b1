/// Runs programs the way a user does, and looks at what comes back.
#pragma once

#include "trace/attached_segment.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace umadvisor::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
/// That of a BOOST_TEST, which shows its message where it is false.
using Verdict = boost::test_tools::assertion_result;

inline Verdict verdict(bool good, const std::string& otherwise) {
    Verdict result(good);
    if (!good)
        result.message() << otherwise;
    return result;
}

/// The product's own file, or its namesake in the folder that tests/mutants has installed a broken shim in.
inline std::string product(const char* built, const char* installed) {
    const char* const prefix = std::getenv("PREFIX_UNDER_TEST");
    return prefix != nullptr ? std::string(prefix) + installed : built;
}

inline const std::string advisor = product(UMADVISOR_BIN, "/bin/umadvisor");
inline const std::string shim = product(UMADVISOR_SHIM, "/lib/libumadvisor.so");
inline const std::string simcuda = UMADVISOR_SIMCUDA;   ///< folder of the simulated libcuda.so.1
inline const std::string examples = UMADVISOR_EXAMPLES; ///< folder that holds sim/ and sim-static/
inline const std::string sim = examples + "/sim/";
inline const std::string programs = UMADVISOR_PROGRAMS; ///< folder of the tests' own programs

/// A folder of its own for one test case, gone at its end.
struct Folder {
    fs::path path;

    Folder() {
        std::string pattern = (fs::temp_directory_path() / "umadvisor-test-XXXXXX").string();
        path = mkdtemp(pattern.data());
    }
    ~Folder() {
        forget_segments();
        fs::remove_all(path);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return (path / name).string(); }

private:
    /// Of programs that were killed and whose traces no test has read.
    void forget_segments() const {
        std::error_code error;
        for (const auto& entry :
             fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error))
            if (entry.path().extension() == ".umtrace") {
                const int file = open(entry.path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
                struct stat status {};
                if (file >= 0 && fstat(file, &status) == 0)
                    if (const trace::AttachedSegment segment(trace::segment_name_in(file), status);
                        segment && segment.writer_is_gone())
                        segment.remove();
                close(file);
            }
    }
};

/// What each test of a suite begins with.
struct InFolder {
    const Folder folder;
};

inline std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Outcome {
    int status; ///< exit status, or 128 + signal, as a shell tells it
    std::string out, err;
};

/// Goes to `folder`, on a machine whose device is known: no run calibrates it.
inline std::string enter(const Folder& folder) {
    return "export XDG_CACHE_HOME='" + folder.path.string() +
           "/.cache' XDG_CONFIG_HOME='" UMADVISOR_SOURCE "/tests/process/config'; cd '" + folder.path.string() +
           "' && ";
}

/// Runs a shell command line in `folder`. One that hangs is ended, and what it was is said.
inline Outcome run(const Folder& folder, const std::string& command) {
    constexpr int ended_by_timeout = 124; // timeout(1)
    const std::string out = folder / ".out", err = folder / ".err", script = folder / ".command";
    std::ofstream(script) << command << '\n';
    const int status = std::system(
        (enter(folder) + "timeout -k 5 240 sh '" + script + "' >'" + out + "' 2>'" + err + "'").c_str());
    if (WIFEXITED(status) && WEXITSTATUS(status) == ended_by_timeout)
        throw std::runtime_error("hangs: " + command + "\n" + read(err));
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out), read(err)};
}

/// The same on simcuda, or on a variant of it. Processes of other tests are asked for no memory.
inline Outcome run_sim(const Folder& folder, const std::string& command, const std::string& variant = "") {
    return run(folder, "export LD_LIBRARY_PATH='" + simcuda + variant + ":" + simcuda +
                           "' UMADVISOR_CONTROL='" + folder.path.string() + "'; " + command);
}

inline Verdict says(const std::string& text, const std::string& part) {
    return verdict(text.find(part) != std::string::npos, "\"" + part + "\" is not in\n" + text);
}
inline Verdict lacks(const std::string& text, const std::string& part) {
    return verdict(text.find(part) == std::string::npos, "\"" + part + "\" is in\n" + text);
}

/// How often `text` says `part`.
inline std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// The same under `umadvisor run`; the trace is in x.umtrace.
inline Outcome record(const Folder& folder, const std::string& program, const std::string& options = "-q",
                      const std::string& variant = "") {
    return run_sim(folder, advisor + " run -f -o x.umtrace " + options + " -- " + program, variant);
}

/// How it ends, and that it says `part` somewhere.
inline Verdict ends(const Outcome& outcome, int status, const std::string& part = "") {
    const std::string told = outcome.out + outcome.err;
    return verdict(outcome.status == status && told.find(part) != std::string::npos,
                   "status " + std::to_string(outcome.status) + " instead of " + std::to_string(status) +
                       ", or \"" + part + "\" is not in\n" + told);
}

/// The same output and the same end.
inline Verdict same(const Outcome& watched, const Outcome& bare) {
    return verdict(watched.status == bare.status && watched.out == bare.out,
                   "status " + std::to_string(watched.status) + " instead of " + std::to_string(bare.status) +
                       ", output\n" + watched.out + "instead of\n" + bare.out + "errors\n" + watched.err);
}

inline std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// All that is said is one line about that.
inline void check_one_line(const Outcome& outcome, int status, const std::string& about) {
    BOOST_TEST(outcome.status == status, outcome.err);
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    BOOST_TEST(says(outcome.err, about));
}

/// Traces in a folder and below it, by their paths from there.
inline std::vector<std::string> traces(const Folder& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path))
        if (entry.path().extension() == ".umtrace")
            paths.push_back(entry.path().lexically_relative(folder.path));
    return paths;
}

/// `umadvisor report --json` of a trace.
inline Json report(const Folder& folder, const std::string& trace = "x.umtrace") {
    const Outcome outcome = run(folder, advisor + " report --json " + trace);
    if (outcome.status != 0)
        throw std::runtime_error("report failed: " + outcome.err);
    return Json::parse(outcome.out);
}

/// Whether a record has these fields, with these values.
inline Verdict holds(const Json& record, const Json& fields) {
    for (const auto& [key, value] : fields.items())
        if (!record.contains(key) || record.at(key) != value)
            return verdict(false, key + " is not " + value.dump() + " in " + record.dump());
    return true;
}
/// The same of each record in its turn, and there are no others.
inline Verdict hold(const std::vector<Json>& records, const std::vector<Json>& fields) {
    if (records.size() != fields.size())
        return verdict(false, std::to_string(records.size()) + " records instead of " +
                                  std::to_string(fields.size()) + ": " + Json(records).dump());
    for (std::size_t i = 0; i < records.size(); ++i)
        if (const Verdict each = holds(records[i], fields[i]); !each)
            return each;
    return true;
}

/// Records of one kind in `umadvisor dump --json`: those whose `fields`, which all have, have these values.
inline std::vector<Json> dump(const Folder& folder, const std::string& kind, const Json& fields = {},
                              const std::string& trace = "x.umtrace") {
    const Outcome outcome = run(folder, advisor + " dump --json " + trace);
    if (outcome.status != 0)
        throw std::runtime_error("dump failed: " + outcome.err);
    const auto wanted = [&](const Json& record) {
        return record.at("record") == kind &&
               std::all_of(fields.items().begin(), fields.items().end(),
                           [&](const auto& field) { return record.at(field.key()) == field.value(); });
    };
    std::vector<Json> records;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);)
        if (Json record = Json::parse(line); wanted(record))
            records.push_back(std::move(record));
    return records;
}

/// How many of these records have each value of `field`.
inline std::map<std::string, int> count_by(const std::vector<Json>& records, const char* field) {
    std::map<std::string, int> counts;
    for (const Json& record : records)
        ++counts[record.at(field).get<std::string>()];
    return counts;
}

/// What a report says of an entry point.
inline Json calls_of(const Json& report, const std::string& entry) {
    for (const Json& calls : report.at("calls"))
        if (calls.at("entry") == entry)
            return calls;
    return {{"count", 0}, {"dropped", 0}, {"failed", 0}};
}

/// Whether a report has a finding of that rule.
inline bool finds(const Json& report, const std::string& rule) {
    for (const auto& finding : report.at("findings"))
        if (finding.at("rule") == rule)
            return true;
    return false;
}

/// Whether one of its notices says `text`.
inline bool notices(const Json& report, const std::string& text) {
    for (const auto& notice : report.at("notices"))
        if (notice.get<std::string>().find(text) != std::string::npos)
            return true;
    return false;
}

/// Whether a notice says `text` and names a line of `file`: no number of the trace tells a reader anything.
inline bool notices_line(const Json& report, const std::string& text, const std::string& file) {
    for (const auto& notice : report.at("notices")) {
        const auto sentence = notice.get<std::string>();
        if (sentence.find(text) != std::string::npos && sentence.find(file + ":") != std::string::npos)
            return true;
    }
    return false;
}

/// What simcuda's own report has by cause, all together.
inline std::uint64_t sum(const Json& by_cause) {
    std::uint64_t whole = 0;
    for (const auto& each : by_cause)
        whole += each.get<std::uint64_t>();
    return whole;
}

} // namespace umadvisor::test
