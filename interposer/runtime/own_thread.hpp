/// Threads of umadvisor's own.
#pragma once

namespace umadvisor::runtime {

/// Starts `body` on a detached thread that takes no signals: the program's own threads shall get them all.
/// `name` as in pthread_setname_np(3). False where no thread could be started.
bool start_own_thread(void* (*body)(void*), const char* name) noexcept;

} // namespace umadvisor::runtime
