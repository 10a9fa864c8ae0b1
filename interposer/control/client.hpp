/// One connection: what it sends, and what it has not read yet.
#pragma once

#include "interposer/control/own_descriptor.hpp"
#include "interposer/control/request.hpp"

#include <cstddef>
#include <string_view>

namespace umadvisor::control {

/// Belongs to the thread of the server. All zeros but for the descriptor: no connection.
struct Client {
    static constexpr std::size_t most_unread = 64 * 1024; ///< bytes of answers

    OwnDescriptor socket;
    bool watches = false; ///< it has asked for counters
    bool holds = false;   ///< a recording ends with the connection
    std::size_t received = 0, unread = 0;
    char in[most_request_bytes];
    char out[most_unread];

    /// Reads what has come. False: the connection is over.
    bool receive() noexcept;

    /// The next whole line of what was received, without its end: `line` is null where there is none. drop()
    /// removes it. False: the line is too long.
    bool next_line(char*& line, std::size_t& bytes) noexcept;
    void drop(std::size_t bytes) noexcept;

    /// Sends the answer, or keeps it until the client reads. False: the client does not read.
    bool answer(std::string_view text) noexcept;

    /// Sends what it can of what was kept. False: the connection is over.
    bool send_kept() noexcept;

    bool is_open() const noexcept { return socket.is_open(); }
};

} // namespace umadvisor::control
