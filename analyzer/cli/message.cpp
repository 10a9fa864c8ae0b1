#include "analyzer/cli/message.hpp"

#include "analyzer/reader/plain.hpp"

#include <iostream>
#include <memory>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

namespace umadvisor::cli {
namespace {

spdlog::logger make_logger() {
    // Through the stream, not the descriptor: lines keep their order with what else goes there.
    spdlog::logger logger("umadvisor", std::make_shared<spdlog::sinks::ostream_sink_st>(std::cerr, true));
    logger.set_pattern("%n: %v");
    return logger;
}

} // namespace

void say(const std::string& line) {
    static spdlog::logger logger = make_logger();
    logger.info("{}", reader::plain(line));
}

} // namespace umadvisor::cli
