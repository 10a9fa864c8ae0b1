// The driver's /dev/nvidia-uvm-tools, without a file: see simcuda_uvm_tools in control.hpp.
#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/tools_queue.hpp"

#include <cerrno>

using namespace simcuda;

namespace {

constexpr unsigned long close_tracker = 0;

int fail(int error) {
    errno = error;
    return -1;
}

void fill(tools::ProcessorTable& wanted) {
    auto* table = reinterpret_cast<ProcessorUuid*>(wanted.table);
    std::fill_n(table, tools::ProcessorTable::processors, ProcessorUuid{});
    for (int processor = 0; processor <= driver().config.devices; ++processor) {
        table[processor] = processor_uuid(static_cast<unsigned>(processor));
    }
    wanted.status = Trackers::ok;
}

} // namespace

extern "C" int simcuda_uvm_tools(int tracker, unsigned long command, void* parameters) {
    // In a forked child the mutex may be held by a thread that does not exist there.
    if (driver().forked) {
        return fail(EBADF);
    }
    if (command != close_tracker && !parameters) {
        return fail(EFAULT);
    }
    switch (command) {
    case close_tracker:
        return trackers().close(tracker) ? 0 : fail(EBADF);
    case tools::InitTracker::command:
        return driver().config.tools_queue ? trackers().open(*static_cast<tools::InitTracker*>(parameters))
                                           : fail(EACCES);
    case tools::Switch::enable_events:
    case tools::Switch::disable_events:
    case tools::Switch::enable_counters:
    case tools::Switch::disable_counters:
        return trackers().turn(tracker, command, *static_cast<tools::Switch*>(parameters)) ? 0 : fail(EBADF);
    case tools::Flush::command:
        static_cast<tools::Flush*>(parameters)->status = Trackers::ok;
        return 0;
    case tools::ProcessorTable::command:
        fill(*static_cast<tools::ProcessorTable*>(parameters));
        return 0;
    default:
        return fail(EINVAL);
    }
}
