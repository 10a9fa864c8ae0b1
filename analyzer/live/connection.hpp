/// A connection with the control socket of a process.
#pragma once

#include "analyzer/live/process.hpp"
#include "analyzer/live/request.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace umadvisor::live {

using Clock = std::chrono::steady_clock;
inline constexpr std::chrono::milliseconds answer_time{2000};
inline constexpr std::size_t longest_answer = 256 << 10; ///< bytes

/// What the other end sends is believed in nothing: it may hang, end, or send what is no answer. Each failure
/// is a reader::Error that names the process. Not thread-safe.
class Connection {
public:
    /// Nothing where the process has no control socket. Throws reader::Error where something else is in its
    /// place: a folder that is a link or another user's, a socket of another user or process.
    static std::optional<Connection> open(const Process& process);
    ~Connection();
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;

    const Process& process() const { return process_; }
    int descriptor() const { return socket_; }

    /// Returns when it is on its way. One request at a time.
    void send(const Request& request);
    /// The answer, if it has come. Throws where it says that the request was refused.
    std::optional<nlohmann::json> take();
    /// The same, waiting for it until `last`.
    nlohmann::json receive(Clock::time_point last = Clock::now() + answer_time);
    nlohmann::json ask(const Request& request) {
        send(request);
        return receive();
    }
    /// Whether the process has closed the connection: it ends, or has ended. Drops what it sent without a
    /// request.
    bool is_over();
    /// The same of what is known already, for one that has failed.
    bool is_closed() const { return closed_; }

private:
    Connection(Process process, int socket) : process_(std::move(process)), socket_(socket) {}
    [[noreturn]] void fail(const std::string& what) const;
    void read_more();

    Process process_;
    int socket_;
    bool closed_ = false; ///< by the process
    std::string received_;
};

} // namespace umadvisor::live
