#include "analyzer/cli/message.hpp"

#include "analyzer/reader/plain.hpp"
#include "trace/write_or_drop.hpp"

#include <iostream>
#include <memory>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

spdlog::logger make_logger() {
    // Through the stream, not the descriptor: lines keep their order with what else goes there.
    spdlog::logger logger("umadvisor", std::make_shared<spdlog::sinks::ostream_sink_st>(std::cerr, true));
    logger.set_pattern("%n: %v");
    return logger;
}

bool waits = true;

void say_or_drop(const std::string& line) {
    struct stat file {};
    if (::fstat(STDERR_FILENO, &file) == 0)
        trace::write_or_drop(STDERR_FILENO, file.st_mode, line.data(), line.size());
}

} // namespace

void drop_unread_messages() {
    waits = false;
}

void say(const std::string& line) {
    if (!waits)
        return say_or_drop("umadvisor: " + reader::plain(line) + "\n");
    static spdlog::logger logger = make_logger();
    logger.info("{}", reader::plain(line));
}

} // namespace umadvisor::cli
