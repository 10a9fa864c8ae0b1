/// What a command says when it cannot do what was asked.
#pragma once

#include <fmt/core.h>
#include <stdexcept>

namespace umadvisor::reader {

/// One line for the user: what is wrong and what to do. Ends a command with exit status 1.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace umadvisor::reader
