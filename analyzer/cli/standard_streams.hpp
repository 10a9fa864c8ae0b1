/// What a command inherits as its standard streams.
#pragma once

namespace umadvisor::cli {

/// Takes the numbers of standard streams that are closed, so that no file gets them and, as stderr, our
/// messages. Reading and writing there fails as before (EBADF), and programs that are started find the streams
/// closed.
void hold_closed_streams();

/// Writing to a pipe or socket that nobody reads any more no longer ends the process: a message must not end a
/// command. Programs that are started get what was there (execve(2)).
void outlive_closed_pipes();

/// Ends the process as a closed pipe ends any other tool: by SIGPIPE, without a word. Where that is ignored,
/// with operational_error.
[[noreturn]] void end_by_closed_pipe();

} // namespace umadvisor::cli
