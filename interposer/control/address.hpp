/// Where clients find the process: a socket in a folder of the user's, or a name without a file.
#pragma once

#include "interposer/control/own_descriptor.hpp"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

namespace umadvisor::control {

/// Notes XDG_RUNTIME_DIR. Called by the library's constructor.
void remember_runtime_folder() noexcept;

/// The address of this process. All zeros: none.
class Address {
public:
    /// Chooses it and makes the folder. `folder` is UMADVISOR_CONTROL, or empty: then the folder `umadvisor`
    /// of XDG_RUNTIME_DIR, and without that a name in the abstract namespace. Null, or why not.
    const char* choose(const char* folder) noexcept;

    /// Makes the socket and listens. A socket that a dead process has left there is replaced. Null, or why not.
    const char* listen(OwnDescriptor& socket) noexcept;

    /// Removes the socket's file, if it is still the one that listen() made.
    void remove() noexcept;

    /// For messages; static.
    const char* words() const noexcept;

    /// Whether it is that of a file; else a name without one.
    bool has_file() const noexcept { return name_.sun_path[0] != '\0'; }
    const sockaddr_un& name() const noexcept { return name_; }

private:
    const char* choose_in(const char* folder) noexcept;
    void choose_abstract() noexcept;
    const char* bind(int socket) noexcept;
    const char* remove_stale() noexcept;

    sockaddr_un name_{};
    socklen_t length_ = 0;
    dev_t device_ = 0; ///< of the file that listen() made
    ino_t inode_ = 0;
};

} // namespace umadvisor::control
