#include "analyzer/cli/terminal/progress.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/trace_file.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::milliseconds(700), interval = std::chrono::milliseconds(100);

bool line_shown = false;

/// Says from a thread of its own how far reading is.
class ReadingLine {
public:
    ReadingLine(double passes, std::size_t chunks)
        : passes_(passes), chunks_(chunks), thread_([this](const std::stop_token& stop) { show(stop); }) {}

private:
    void show(const std::stop_token& stop) {
        constexpr auto second = std::chrono::seconds(1);
        const Clock::time_point begin = Clock::now();
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        for (auto pause = Clock::duration(second);
             !stopped.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); });
             pause = interval) {
            const double all =
                passes_ * static_cast<double>(chunks_ + reader::read_count.found.load() - found_before_);
            const auto read = static_cast<double>(reader::read_count.read.load() - read_before_);
            const double share = std::min(read / std::max(all, 1.0), 0.99);
            const std::chrono::duration<double> passed = Clock::now() - begin;
            line_shown = true;
            std::cerr << "\r\033[Kumadvisor: reading: " << std::lround(share * 100) << "%"
                      << (share > 0.02
                              ? fmt::format(", {:.0f} s left", std::ceil(passed.count() * (1 - share) / share))
                              : "")
                      << std::flush;
        }
    }

    const std::uint64_t found_before_ = reader::read_count.found, read_before_ = reader::read_count.read;
    const double passes_;
    const std::uint64_t chunks_;
    std::jthread thread_;
};

std::optional<ReadingLine> reading_line;

} // namespace

void show_reading(double passes, std::size_t chunks) {
    if (::isatty(STDERR_FILENO) != 0)
        reading_line.emplace(passes, chunks);
}

decltype(symbols::Options::progress) symbol_progress() {
    if (::isatty(STDERR_FILENO) == 0)
        return {};
    show_reading(3); // of a report: what happened, its replay, the order of work
    return [next = Clock::now() + patience](std::string_view file, std::size_t frames) mutable {
        reading_line.reset();
        const Clock::time_point now = Clock::now();
        if (now < next)
            return;
        next = now + interval;
        line_shown = true;
        std::cerr << "\r\033[Kumadvisor: looking up symbols: " << text::count_text(frames, "frame") << ", "
                  << reader::plain(std::string(file.substr(file.rfind('/') + 1))) << std::flush;
    };
}

void end_progress() {
    reading_line.reset();
    if (line_shown)
        std::cerr << "\r\033[K" << std::flush;
    line_shown = false;
}

} // namespace umadvisor::cli
