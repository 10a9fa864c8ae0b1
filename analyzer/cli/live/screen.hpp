/// The whole terminal, as ncurses has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace umadvisor::cli {

enum class Key : std::uint8_t { none, up, down, quit, other };
enum class Emphasis : std::uint8_t { none, title, chosen };

/// The terminal is as it was when this ends. One at a time.
class Screen {
public:
    /// Throws reader::Error where standard output or input is no terminal that can be used.
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    std::size_t height() const;
    std::size_t width() const;
    void clear();
    /// Cut to the width; a row that is not there is left out.
    void write(std::size_t row, const std::string& line, Emphasis emphasis = Emphasis::none);
    void show();
    /// Does not wait.
    Key key();
};

} // namespace umadvisor::cli
