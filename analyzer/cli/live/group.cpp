#include "analyzer/cli/live/group.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/reader/error.hpp"

namespace umadvisor::cli {

std::size_t ask_all(std::vector<live::Connection>& connections,
                    const std::function<live::Request(const live::Process&)>& made,
                    const std::function<void(live::Connection&, const nlohmann::json&)>& answered) {
    std::size_t failed = 0;
    const auto attempt = [&failed](const auto& step) {
        try {
            step();
            return true;
        } catch (const reader::Error& error) {
            say(error.what());
            ++failed;
            return false;
        }
    };
    std::vector<live::Connection*> sent;
    for (live::Connection& each : connections)
        if (attempt([&] { each.send(made(each.process())); }))
            sent.push_back(&each);
    const auto last = live::Clock::now() + live::answer_time;
    for (live::Connection* const each : sent)
        attempt([&] { answered(*each, each->receive(last)); });
    return failed;
}

} // namespace umadvisor::cli
