#include "analyzer/cli/live/screen.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/text/columns.hpp"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <langinfo.h>
#include <string_view>
#include <unistd.h>

#define NCURSES_NOMACROS // move, erase, timeout and others are names of C++
#include <curses.h>

namespace umadvisor::cli {
namespace {

/// What a terminal without UTF-8 can show.
std::string ascii(std::string text) {
    std::erase_if(text, [](char c) { return text::continues(c); });
    std::ranges::replace_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; }, '?');
    return text;
}

} // namespace

Screen::Screen() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        throw reader::Error(
            "top needs a terminal: umadvisor top --once prints a table, and --once --json a document");
    std::setlocale(LC_CTYPE, "");
    if (::newterm(nullptr, stdout, stdin) == nullptr) {
        const char* const kind = std::getenv("TERM");
        throw reader::Error(
            fmt::format("top cannot use this terminal (TERM is {}): umadvisor top --once prints a table",
                        kind != nullptr && *kind != '\0' ? kind : "not set"));
    }
    ::cbreak();
    ::noecho();
    ::curs_set(0);
    ::keypad(stdscr, true);
    ::nodelay(stdscr, true);
    ::set_escdelay(25);
}

Screen::~Screen() {
    ::endwin();
}

std::size_t Screen::height() const {
    return static_cast<std::size_t>(std::max(::getmaxy(stdscr), 0));
}

std::size_t Screen::width() const {
    return static_cast<std::size_t>(std::max(::getmaxx(stdscr), 0));
}

void Screen::clear() {
    ::erase();
}

void Screen::write(std::size_t row, const std::string& line, Emphasis emphasis) {
    if (row >= height())
        return;
    std::string text = text::cut(reader::plain(line), width());
    if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8")
        text = ascii(std::move(text));
    const attr_t attribute = emphasis == Emphasis::title    ? A_BOLD
                             : emphasis == Emphasis::chosen ? A_REVERSE
                                                            : A_NORMAL;
    ::attr_on(attribute, nullptr);
    ::mvaddstr(static_cast<int>(row), 0, text.c_str());
    ::attr_off(attribute, nullptr);
}

void Screen::show() {
    ::refresh();
}

Key Screen::key() {
    switch (::getch()) {
    case ERR:
        return Key::none;
    case KEY_UP:
    case 'k':
        return Key::up;
    case KEY_DOWN:
    case 'j':
        return Key::down;
    case 'q':
    case 'Q':
        return Key::quit;
    default:
        return Key::other; // the size of the terminal changed, for one
    }
}

} // namespace umadvisor::cli
