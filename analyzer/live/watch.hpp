/// Processes whose counters are read again and again.
#pragma once

#include "analyzer/live/connection.hpp"
#include "analyzer/live/counters.hpp"
#include "analyzer/live/discovery.hpp"
#include "analyzer/live/rates.hpp"
#include "analyzer/live/status.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::live {

struct Watched {
    Connection connection;
    Status status{};
    std::optional<Counters> counters{}; ///< the last that came
    std::optional<Rates> rates{};       ///< between the last two
    int awaited = 0;                    ///< answers to come: counters, then status
    Clock::time_point asked{};

    const Process& process() const { return connection.process(); }
};

/// Those that end go without a word; those that answer with nonsense go with one.
class Watch {
public:
    explicit Watch(std::vector<Connection> connections) { add(std::move(connections)); }

    void add(std::vector<Connection> connections);
    /// Asks those that have answered all so far.
    void ask();
    /// Reads what comes until `last`, or until something can be read from the descriptor `other`; with
    /// `other` < 0, until all have answered.
    void wait(Clock::time_point last, int other = -1);
    /// Gives up those that have not answered yet.
    void drop_silent();

    /// In the order of their numbers.
    const std::vector<Watched>& processes() const { return processes_; }
    /// Of those that are watched, and of those that were given up while they ran.
    const Known& known() const { return known_; }
    /// Why processes were given up, since the last call.
    std::vector<std::string> take_troubles() { return std::exchange(troubles_, {}); }

private:
    bool is_settled() const;
    template <class Step>
    void each(const Step& step);
    static void read(Watched& watched);

    std::vector<Watched> processes_;
    Known known_;
    std::vector<std::string> troubles_;
};

} // namespace umadvisor::live
