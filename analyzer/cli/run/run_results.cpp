#include "analyzer/cli/run/run_results.hpp"

#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <thread>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

std::ifstream open_result(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw reader::Error(path + ": cannot be read");
    return file;
}

/// Number of the first byte, from 1, that is not the same in both files; nothing: they are equal.
std::optional<std::uint64_t> first_difference(const std::string& one, const std::string& other) {
    std::ifstream first = open_result(one), second = open_result(other);
    std::array<char, 65536> left{}, right{};
    for (std::uint64_t before = 0;;) {
        first.read(left.data(), left.size());
        second.read(right.data(), right.size());
        const auto in_left = static_cast<std::size_t>(first.gcount());
        const auto in_right = static_cast<std::size_t>(second.gcount());
        const std::size_t both = std::min(in_left, in_right);
        for (std::size_t i = 0; i < both; ++i)
            if (left[i] != right[i])
                return before + i + 1;
        before += both;
        if (in_left != in_right)
            return before + 1;
        if (both == 0)
            return std::nullopt;
    }
}

} // namespace

std::string status_text(int status) {
    return status > 128 ? fmt::format("signal {} (status {})", status - 128, status)
                        : fmt::format("exit status {}", status);
}

RunResults::RunResults(std::string folder, const std::string& output, const std::vector<std::string>& files,
                       const ArmNames& names)
    : folder_(std::move(folder)), names_(names) {
    results_.push_back({"standard output", output, folder_ + "/first-output", {}, 0, {}});
    for (const std::string& file : files) {
        std::error_code error;
        if (fs::exists(file, error) && !fs::is_regular_file(file, error))
            throw reader::Error(file + ": is no regular file");
        results_.push_back({file, file, fmt::format("{}/first-{}", folder_, results_.size()), {}, 0, {}});
    }
}

RunResults::Stamp RunResults::stamp_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return {};
    return {status.st_ino, static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                               static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

void RunResults::expect() {
    // File times are those of the kernel's tick: a file written now must look younger than one written before.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::error_code error; // should it stay, it is truncated
    fs::remove(results_.front().path, error);
    for (Result& result : results_)
        result.before = stamp_of(result.path);
}

void RunResults::add(Arm arm, int status) {
    const bool first = runs_[0] == 0;
    const std::string run =
        fmt::format("{} run {}", names_[static_cast<int>(arm)], ++runs_[static_cast<int>(arm)]);
    if (first)
        status_ = status;
    else if (std::string& other = other_status_[static_cast<int>(arm)]; status != status_ && other.empty())
        other = fmt::format("{} in {}, {} in the first", status_text(status), run, status_text(status_));
    for (Result& result : results_) {
        if (!first) {
            compare(result, arm, run);
            continue;
        }
        if (stamp_of(result.path) == result.before)
            throw reader::Error(result.path + ": the program did not write it");
        std::error_code error;
        fs::copy_file(result.path, result.kept, error);
        if (error)
            throw reader::Error(result.path + ": cannot be kept for comparison: " + error.message());
        result.bytes = fs::file_size(result.kept);
    }
}

void RunResults::compare(Result& result, Arm arm, const std::string& run) {
    std::string& different = result.different[static_cast<int>(arm)];
    if (!different.empty())
        return;
    if (stamp_of(result.path) == result.before)
        different = "not written by " + run;
    else if (const auto byte = first_difference(result.kept, result.path))
        different = fmt::format("from byte {} on in {}", *byte, run);
}

std::vector<std::string> RunResults::differences() const {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& what, const std::string(&different)[2]) {
        if (!different[0].empty())
            lines.push_back(fmt::format("{} varies by itself: {}", what, different[0]));
        else if (!different[1].empty())
            lines.push_back(fmt::format("{} differs: {}", what, different[1]));
    };
    add("exit status", other_status_);
    for (const Result& result : results_)
        add(result.what, result.different);
    return lines;
}

Likeness RunResults::likeness() const {
    Likeness all = Likeness::equal;
    const auto add = [&all](const std::string(&different)[2]) {
        if (!different[0].empty())
            all = std::max(all, Likeness::varying);
        else if (!different[1].empty())
            all = Likeness::different;
    };
    add(other_status_);
    for (const Result& result : results_)
        add(result.different);
    return all;
}

std::vector<std::string> RunResults::compared() const {
    std::vector<std::string> lines{status_text(status_)};
    for (const Result& result : results_)
        lines.push_back(fmt::format("{} ({} bytes)", result.what, result.bytes));
    return lines;
}

} // namespace umadvisor::cli
