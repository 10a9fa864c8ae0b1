/// Shows long output a page at a time, as git does.
#pragma once

#include "analyzer/cli/message.hpp"

#include <sys/types.h>

namespace umadvisor::cli {

/// While it lives, what is written to std::cout goes to the program that PAGER names, else to less where it is
/// installed; only on a terminal, and not where PAGER is empty or "cat". less gets LESS=FRX unless LESS is set:
/// it ends by itself where all fits on the screen, and shows colours. The destructor waits until the reader has
/// ended it. The terminal's width must be asked for before. Not thread-safe: standard output is exchanged as a
/// whole.
class Pager {
public:
    Pager();
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    ~Pager();

private:
    pid_t process_ = -1; ///< -1: none
    int output_ = -1;    ///< the terminal, kept meanwhile
    void (*interrupted_)(int) = nullptr;
};

} // namespace umadvisor::cli
