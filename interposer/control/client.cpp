#include "interposer/control/client.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace umadvisor::control {

bool Client::receive() noexcept {
    const ssize_t got = recv(socket.number(), in + received, sizeof in - received, MSG_DONTWAIT);
    if (got > 0)
        received += static_cast<std::size_t>(got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Client::next_line(char*& line, std::size_t& bytes) noexcept {
    const auto* const end = static_cast<const char*>(std::memchr(in, '\n', received));
    line = end != nullptr ? in : nullptr;
    bytes = end != nullptr ? static_cast<std::size_t>(end - in) : 0;
    return end != nullptr || received < sizeof in;
}

void Client::drop(std::size_t bytes) noexcept {
    received -= bytes;
    std::memmove(in, in + bytes, received);
}

bool Client::answer(std::string_view text) noexcept {
    if (text.size() > sizeof out - unread && (!send_kept() || text.size() > sizeof out - unread))
        return false;
    std::memcpy(out + unread, text.data(), text.size());
    unread += text.size();
    return true;
}

bool Client::send_kept() noexcept {
    std::size_t sent = 0;
    bool open = true;
    while (sent < unread) {
        const ssize_t bytes = send(socket.number(), out + sent, unread - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            open = bytes < 0 && errno == EAGAIN;
            break;
        }
        sent += static_cast<std::size_t>(bytes);
    }
    unread -= sent;
    std::memmove(out, out + sent, unread);
    return open;
}

} // namespace umadvisor::control
