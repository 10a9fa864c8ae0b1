/// Whether a program can be recorded here, found out by recording one: this binary, preloaded as a program is.
#pragma once

#include "analyzer/cli/run/driver_probe.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace umadvisor::cli {

/// Of the option by which this binary becomes the program that is tried.
inline constexpr std::string_view trial_flag = "--trial-program";

/// What a process that asks the driver learned.
struct DriverTrial {
    DriverProbe probe;      ///< its `trouble` is also that the driver ended the process, or never answered
    bool preloaded = false; ///< the shim was in the process
    bool cut_short = false; ///< it ended, by a signal or by our patience, before it could say so
    std::string words;      ///< that the loader or other code wrote to its standard error
};

/// The program: asks the driver and prints what it learned. Returns its exit status.
int run_trial_program(const std::string& shim);

/// Runs it without the shim. The driver may take so long to answer as is `allowed`.
DriverTrial try_driver(std::chrono::milliseconds allowed);

struct RecordingTrial {
    bool tried = false; ///< else there was no folder for it
    DriverTrial driver;
    std::string trouble;    ///< why it left no trace that can be read; empty: it left one
    bool simulated = false; ///< the driver that it recorded is simcuda
};

/// Runs it as `umadvisor run` runs a program, and reads its trace, in a folder for temporary files. The program
/// makes no context: the trial works on a card that is full or in exclusive use, and takes none of its memory.
RecordingTrial try_recording(const std::string& shim, std::chrono::milliseconds allowed);

} // namespace umadvisor::cli
