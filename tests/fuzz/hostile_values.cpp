#include "hostile_values.hpp"

#include <array>

namespace umadvisor::fuzz {
namespace {

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (; times > 0; --times)
        text += part;
    return text;
}

constexpr std::array<std::string_view, 30> short_texts{"",
                                                       "a",
                                                       "_Z5scalePfi",
                                                       "\x1b[31mred\x1b[0m",
                                                       "\x1b]0;title\x07",
                                                       "name\nFORGED: nothing was found",
                                                       "name\r\x1b[2KFORGED",
                                                       "\r\nFORGED\r\n",
                                                       "\xc2\x9b"
                                                       "31mC1",
                                                       "\x9b"
                                                       "31mC1 in one byte",
                                                       "\x7f\x08\x08\x08",
                                                       "\xe2\x80\xaegnp.exe\xe2\x80\xac",
                                                       "\xe2\x81\xa6isolated\xe2\x81\xa9\xe2\x80\x8f",
                                                       "\xd8\x9c",
                                                       "\xff\xfe not UTF-8",
                                                       "cut \xe2\x80",
                                                       "\xed\xa0\x80 surrogate",
                                                       "\xc0\x8a overlong",
                                                       "tab\there",
                                                       "\"quoted\", and=1,,\n\"",
                                                       "|`*_<script>alert(1)</script>](x)",
                                                       "```\n# FORGED\n",
                                                       "%s%n%99999d{}",
                                                       "a;b c;d 17\nFORGED 5",
                                                       "/proc/self/cwd/secret",
                                                       "secret",
                                                       "/proc/self/cwd/fifo.py",
                                                       "/dev/zero",
                                                       "../../../../../../etc/passwd",
                                                       "/proc/self/exe"};

} // namespace

std::uint64_t hostile_number(Random& random) {
    constexpr std::uint64_t one = 1;
    switch (random() % 8) {
    case 0:
        return 0;
    case 1:
        return ~std::uint64_t{0} - random() % 2;
    case 2:
        return one << random() % 64;
    case 3:
        return (one << random() % 64) - 1;
    case 4:
        return (one << 63) - random() % 3 + 1;
    case 5:
        return random() % 16;
    default:
        return random() >> random() % 64;
    }
}

std::string doubling_symbol(unsigned levels) {
    const auto substitution = [](unsigned number) {
        constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        return "S" + (number >= 36 ? std::string(1, digits[number / 36]) : "") + digits[number % 36] + "_";
    };
    std::string symbol = "_Z1f1aIiiE";
    for (unsigned level = 1; level <= levels; ++level) {
        const std::string before = substitution(2 * (level - 1));
        symbol += "1" + std::string(1, static_cast<char>('b' + level % 24)) + "I" + before + before + "E";
    }
    return symbol;
}

std::string hostile_text(Random& random) {
    const auto length = [&] { return random() % 4 == 0 ? 16'000 : random() % 300; };
    switch (random() % 24) {
    case 0:
        return doubling_symbol(static_cast<unsigned>(4 + random() % 28));
    case 1:
        return "_Z1f" + repeated(random() % 2 == 0 ? "P" : "1aI", length()) + "i";
    case 2:
        return std::string(length(), 'x');
    case 3:
        return repeated("\xe2\x82\xac", length() / 3);
    case 4:
        return "/" + repeated("d/", length() / 2) + "file.py";
    case 5: {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        return bytes;
    }
    case 6:
        return std::string(short_texts[random() % short_texts.size()]) +
               std::string(short_texts[random() % short_texts.size()]);
    default:
        return std::string(short_texts[random() % short_texts.size()]);
    }
}

} // namespace umadvisor::fuzz
