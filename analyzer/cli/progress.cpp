#include "analyzer/cli/progress.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/rules/words.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::milliseconds(700), interval = std::chrono::milliseconds(100);

bool shown = false;

} // namespace

decltype(symbols::Options::progress) symbol_progress() {
    if (::isatty(STDERR_FILENO) == 0)
        return {};
    return [next = Clock::now() + patience](std::string_view file, std::size_t frames) mutable {
        const Clock::time_point now = Clock::now();
        if (now < next)
            return;
        next = now + interval;
        shown = true;
        std::cerr << "\r\033[Kumadvisor: looking up symbols: " << text::count_text(frames, "frame") << ", "
                  << reader::plain(std::string(file.substr(file.rfind('/') + 1))) << std::flush;
    };
}

void end_progress() {
    if (shown)
        std::cerr << "\r\033[K" << std::flush;
    shown = false;
}

} // namespace umadvisor::cli
