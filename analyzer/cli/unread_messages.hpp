/// `umadvisor run` calls it: who starts a program may keep its stderr open without reading it, and the program
/// alone would end all the same.
#pragma once

namespace umadvisor::cli {

/// From now on say() drops a line that would have to wait for its reader.
void drop_unread_messages();

} // namespace umadvisor::cli
