#include "analyzer/rules/words.hpp"

#include "analyzer/symbols/demangle.hpp"

namespace umadvisor::rules {

std::string kernels_text(const Profile& profile, const std::set<std::uint64_t>& functions) {
    constexpr std::size_t most = 8;
    std::string text;
    std::size_t named = 0;
    for (const std::uint64_t function : functions) {
        if (named == most)
            return fmt::format("{} and {} more", text, functions.size() - most);
        const std::string name = symbols::short_name(profile.dictionary().function_symbol(function));
        if (name.empty())
            continue;
        text += (text.empty() ? "" : ", ") + name;
        ++named;
    }
    return text.empty() ? "the kernel" : text;
}

std::string copies_text(const Profile& profile, std::uint64_t entry, double bytes, std::uint64_t count) {
    return fmt::format("{} {} x {}", profile.call_name(entry), bytes_text(bytes / static_cast<double>(count)),
                       count);
}

std::string allocations_text(const Profile& profile, std::uint64_t entry, double bytes, std::uint64_t count) {
    return fmt::format("{} of {}{}", profile.call_name(entry), bytes_text(bytes / static_cast<double>(count)),
                       count == 1 ? "" : fmt::format(" on average, {} times", count));
}

} // namespace umadvisor::rules
