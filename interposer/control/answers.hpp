/// What each command does, and its answer.
#pragma once

#include "interposer/control/json.hpp"
#include "interposer/control/request.hpp"
#include "interposer/control/sample.hpp"
#include "interposer/runtime/recordings.hpp"

namespace umadvisor::control {

/// What a command changes for its connection.
struct Wishes {
    bool watch = false; ///< calls are to be counted as long as it lasts
    bool hold = false;  ///< the recording that was begun ends with it
};

/// Room for answers, too large for a stack.
struct Answering {
    static constexpr std::size_t most_bytes = 32 * 1024;

    runtime::Outcome outcome;
    runtime::RecordingState state;
    runtime::Request wanted;
    Sample sample;
    bool trigger_rests = false; ///< TriggerWatch::rests()
    char text[most_bytes];
};

/// Does what is asked. Returns the answer, a line with its end; it is in `room`.
std::string_view answer(const Request& request, Answering& room, Wishes& wishes) noexcept;

/// The answer to what cannot be done. `error`: a sentence without its full stop.
std::string_view refuse(const char* error, Answering& room) noexcept;

} // namespace umadvisor::control
