#include "analyzer/live/connection.hpp"

#include "analyzer/live/socket.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::live {
namespace {

constexpr std::size_t longest_error = 300; ///< bytes of what a process says

bool wait_for_events(int socket, short events, Clock::time_point last) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now()).count();
        pollfd waiting{.fd = socket, .events = events, .revents = 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (ready > 0 || (ready == 0 && left <= 0))
            return ready > 0;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

} // namespace

std::optional<Connection> Connection::open(const Process& process) {
    for (const SocketPlace& place : places_of(process))
        if (const int socket = connect_to(place, process); socket >= 0)
            return Connection(process, socket);
    return std::nullopt;
}

Connection::~Connection() {
    if (socket_ >= 0)
        ::close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : process_(std::move(other.process_)),
      socket_(std::exchange(other.socket_, -1)),
      closed_(other.closed_),
      received_(std::move(other.received_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
    process_ = std::move(other.process_);
    std::swap(socket_, other.socket_);
    closed_ = other.closed_;
    received_ = std::move(other.received_);
    return *this;
}

void Connection::fail(const std::string& what) const {
    throw reader::Error(fmt::format("process {}: {}", process_.text(), what));
}

void Connection::send(const Request& request) {
    const std::string line = request.line();
    const auto last = Clock::now() + answer_time;
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t took = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (took >= 0)
            sent += static_cast<std::size_t>(took);
        else if (errno != EAGAIN && errno != EINTR) {
            closed_ = true;
            fail("has ended, or closed the connection");
        } else if (errno == EAGAIN && !wait_for_events(socket_, POLLOUT, last))
            fail("does not read its requests");
    }
}

void Connection::read_more() {
    std::array<char, 16384> part{};
    while (!closed_ && received_.size() <= longest_answer) {
        const ssize_t got = ::recv(socket_, part.data(), part.size(), 0);
        if (got > 0)
            received_.append(part.data(), static_cast<std::size_t>(got));
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            break;
        else
            closed_ = true;
    }
}

std::optional<nlohmann::json> Connection::take() {
    read_more();
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) {
        if (received_.size() > longest_answer)
            fail(fmt::format("sends more than {} KiB for an answer", longest_answer >> 10));
        if (closed_)
            fail("has ended, or closed the connection");
        return std::nullopt;
    }
    nlohmann::json answer = nlohmann::json::parse(
        received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    received_.erase(0, end + 1);
    const auto ok = answer.is_object() ? answer.find("ok") : answer.end();
    if (!answer.is_object() || ok == answer.end() || !ok->is_boolean())
        fail("sends an answer that cannot be read: it may have another version of umadvisor");
    if (!ok->get<bool>()) {
        const auto error = answer.find("error");
        fail(error != answer.end() && error->is_string()
                 ? reader::shown_name(reader::plain(error->get<std::string>()), longest_error)
                 : "refuses the request and does not say why");
    }
    return answer;
}

nlohmann::json Connection::receive(Clock::time_point last) {
    for (;;) {
        if (std::optional<nlohmann::json> answer = take())
            return std::move(*answer);
        if (!wait_for_events(socket_, POLLIN, last))
            fail(fmt::format("does not answer within {} s",
                             std::chrono::duration_cast<std::chrono::seconds>(answer_time).count()));
    }
}

bool Connection::is_over() {
    received_.clear(); // nothing was asked, so what comes answers nothing
    read_more();
    return closed_;
}

} // namespace umadvisor::live
