/// The modes of --act (act.def), and how the words that name them are read.
#pragma once

#include "trace/size_text.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace umadvisor::trace {

enum class ActMode : std::uint8_t {
#define MODE(name, words, ...) name,
#include "trace/act.def"
};

struct ActModeText {
    std::string_view name;
    std::string_view words; ///< that --act takes, with ", " between
    bool launches = false;  ///< it needs launches recorded in full: call stacks, and what they reach
    bool managed = false;   ///< it needs a device with concurrentManagedAccess
    bool automatic = false; ///< `auto` has it: it gives up what does not pay
    bool planned = false;   ///< a plan can name call sites that it leaves alone ("never_NAME")
};

inline constexpr ActModeText act_modes[] = {
#define MODE(mode, text, ...) {.name = #mode, .words = text, __VA_ARGS__},
#include "trace/act.def"
};
inline constexpr std::size_t act_mode_count = std::size(act_modes);

/// What --act takes when a program is run.
inline constexpr std::string_view act_words =
#define MODE(name, words, ...) words ", "
#include "trace/act.def"
    "auto, plan=FILE";

/// Whether `text` is this word, in which SIZE stands for any size, and FILE at the end for any name.
constexpr bool is_act_word(std::string_view text, std::string_view word, std::uint64_t& size) noexcept {
    const std::size_t any = word.ends_with("FILE") ? word.size() - 4 : word.find("SIZE");
    if (any == std::string_view::npos)
        return text == word;
    const std::string_view before(word.data(), any), after(word.data() + any + 4, word.size() - any - 4);
    if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
        return false;
    const std::string_view value(text.data() + any, text.size() - before.size() - after.size());
    return word.ends_with("FILE") || parse_size(value, size);
}

/// The one of `words` (with ", " between) that `text` is; empty: none.
constexpr std::string_view act_word(std::string_view text, std::string_view words,
                                    std::uint64_t& size) noexcept {
    while (!words.empty()) {
        const std::size_t end = words.find(',') < words.size() ? words.find(',') : words.size();
        if (const std::string_view word(words.data(), end); is_act_word(text, word, size))
            return word;
        words.remove_prefix(end + 2 < words.size() ? end + 2 : words.size());
    }
    return {};
}

} // namespace umadvisor::trace
