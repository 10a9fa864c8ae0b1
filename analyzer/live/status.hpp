/// What a process says of its recordings.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::live {

struct ActMode {
    std::string mode;
    bool on = false;
};

struct Status {
    std::string version, program;
    std::string mode; ///< standby, record or ring
    bool recording = false;
    std::string file;                ///< of the recording, or of the last one; empty: none
    std::optional<double> ends_in_s; ///< where the recording ends by itself
    std::uint64_t recordings = 0;    ///< begun so far
    std::uint64_t dropped = 0;       ///< records that the trace lacks
    std::string dropped_because;     ///< why
    bool watched = false;            ///< calls are counted for a client
    std::string snapshot;            ///< the last that was written apart; empty: none
    std::string trigger;             ///< UMADVISOR_WHEN; empty: none
    bool trigger_rests = false;      ///< it has begun as many recordings as it may within an hour
    std::vector<ActMode> act;        ///< modes of --act that can be switched
    /// Bytes that these keep although the program has freed them.
    std::uint64_t kept_device_bytes = 0, kept_pinned_bytes = 0;
};

/// From an answer, which may lack any of them.
Status read_status(const nlohmann::json& answer);

/// "kept: 1.2 GiB device, 64 MiB pinned", of what the program has freed; empty: nothing is kept.
std::string kept_text(const Status& status);
/// "standby, 2 recordings so far, last: /tmp/app.42.umtrace".
std::string status_text(const Status& status);

} // namespace umadvisor::live
