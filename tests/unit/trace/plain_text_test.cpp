/// Text that others wrote, as it may stand on a terminal.
#include "trace/plain_text.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(trace_plain_text)

using namespace umadvisor::trace;
using namespace std::string_literals;

namespace {

std::string plain(std::string text, Plain kind = Plain::line) {
    text.resize(make_plain(text.data(), text.size(), kind));
    return text;
}

std::string encoded(std::uint32_t code) {
    const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80)
        return {static_cast<char>(code)};
    if (code < 0x800)
        return {static_cast<char>(0xc0 | code >> 6), tail(0)};
    if (code < 0x10000)
        return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

} // namespace

BOOST_AUTO_TEST_CASE(words_stay_as_they_are) {
    for (const char* const text :
         {"", "a b~", "größe · ½", "カーネル", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
        for (const Plain kind : {Plain::name, Plain::line, Plain::lines})
            BOOST_TEST(plain(text, kind) == text);
}

BOOST_AUTO_TEST_CASE(every_code_point_is_a_character_or_a_question_mark) {
    std::size_t controls = 0;
    for (std::uint32_t code = 0; code < 0x110000; ++code) {
        if (code >= 0xd800 && code < 0xe000)
            continue;
        const std::string text = encoded(code);
        const CodePoint point = code_point(text);
        BOOST_TEST_REQUIRE((point.code == code && point.bytes == text.size()));
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
                             code == 0x200f || (code >= 0x2028 && code < 0x202f) ||
                             (code >= 0x2066 && code < 0x206a);
        controls += control;
        if (plain("a" + text + "b") != (control ? "a?b" : "a" + text + "b"))
            BOOST_TEST(plain("a" + text + "b") == "", code);
    }
    BOOST_TEST(controls == 32u + 33 + 3 + 7 + 4);
}

BOOST_AUTO_TEST_CASE(line_feeds_and_tabs_stay_between_lines) {
    BOOST_TEST(plain("a\n\tb\r\033[2J\n", Plain::lines) == "a\n\tb??[2J\n");
    BOOST_TEST(plain("a\n\tb\r\033[2J\n") == "a??b??[2J?");
    BOOST_TEST(plain("a\n\tb\r\033[2J\n", Plain::name) == "a??b??[2J?");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text) {
    // C1 as one byte; longer than need be (an escape in disguise); a surrogate; beyond the last; cut.
    for (const std::string& bad : {"\x9b"s, "\xc0\x9b"s, "\xe0\x80\x9b"s, "\xf0\x80\x80\x9b"s, "\xed\xa0\x80"s,
                                   "\xf4\x90\x80\x80"s, "\xff"s, "\xc3"s, "\xe2\x80"s, "\xf0\x9f\x98"s}) {
        BOOST_TEST(plain("a" + bad) == "a" + std::string(bad.size(), '?'));
        BOOST_TEST(plain("a" + bad, Plain::lines) == "a" + std::string(bad.size(), '?'));
        BOOST_TEST(plain("a" + bad, Plain::name) == "a" + bad); // as its file is called
        BOOST_TEST(plain(bad + "b") == std::string(bad.size(), '?') + "b");
    }
    BOOST_TEST(code_point("\xe2\x80").unfinished);
    BOOST_TEST(!code_point("\xe2(").unfinished);
    BOOST_TEST(!code_point("\xed\xa0").unfinished);
}

BOOST_AUTO_TEST_SUITE_END()
