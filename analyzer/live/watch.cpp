#include "analyzer/live/watch.hpp"

#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <poll.h>

namespace umadvisor::live {
namespace {

std::pair<pid_t, pid_t> key_of(const Process& process) {
    return {process.pid, process.inner_pid};
}

} // namespace

void Watch::add(std::vector<Connection> connections) {
    for (Connection& each : connections) {
        known_.insert(key_of(each.process()));
        processes_.push_back({std::move(each)});
    }
    std::ranges::sort(processes_, {}, [](const Watched& each) { return key_of(each.process()); });
}

/// Removes those where `step` fails.
template <class Step>
void Watch::each(const Step& step) {
    std::erase_if(processes_, [&](Watched& watched) {
        try {
            step(watched);
            return false;
        } catch (const reader::Error& error) {
            if (watched.connection.is_closed())
                known_.erase(key_of(watched.process()));
            else
                troubles_.emplace_back(error.what());
            return true;
        }
    });
}

void Watch::ask() {
    each([](Watched& watched) {
        if (watched.awaited != 0)
            return;
        watched.asked = Clock::now();
        watched.connection.send(Request("counters"));
        watched.connection.send(Request("status"));
        watched.awaited = 2;
    });
}

void Watch::read(Watched& watched) {
    while (watched.awaited != 0) {
        const std::optional<nlohmann::json> answer = watched.connection.take();
        if (!answer)
            return;
        if (watched.awaited-- == 1) {
            watched.status = read_status(*answer);
            continue;
        }
        std::optional<Counters> before = std::exchange(watched.counters, read_counters(*answer));
        if (before)
            watched.rates = rates_between(*before, *watched.counters);
    }
    if (watched.connection.is_over())
        throw reader::Error("has ended");
}

bool Watch::is_settled() const {
    return std::ranges::all_of(processes_, [](const Watched& watched) { return watched.awaited == 0; });
}

void Watch::wait(Clock::time_point last, int other) {
    for (;;) {
        each(&Watch::read);
        if (other < 0 && is_settled())
            return;
        std::vector<pollfd> waiting;
        for (const Watched& watched : processes_)
            waiting.push_back({.fd = watched.connection.descriptor(), .events = POLLIN, .revents = 0});
        waiting.push_back({.fd = other, .events = POLLIN, .revents = 0}); // poll(2) leaves out negative ones
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now()).count();
        if (left <= 0)
            return;
        if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 || waiting.back().revents != 0)
            return;
    }
}

void Watch::drop_silent() {
    each([](Watched& watched) {
        if (watched.awaited != 0)
            throw reader::Error(
                fmt::format("process {}: does not answer within {} s", watched.process().text(),
                            std::chrono::duration_cast<std::chrono::seconds>(answer_time).count()));
    });
}

} // namespace umadvisor::live
