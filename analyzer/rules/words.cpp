#include "analyzer/rules/words.hpp"

#include "analyzer/symbols/demangle.hpp"

namespace umadvisor::rules {

std::string kernels_text(const Profile& profile, const std::set<std::uint64_t>& functions) {
    constexpr std::size_t most = 8;
    std::string text;
    std::size_t named = 0;
    for (const std::uint64_t function : functions) {
        if (named == most)
            return text + " and " + std::to_string(functions.size() - most) + " more";
        const std::string name = symbols::short_name(profile.dictionary().function_symbol(function));
        if (name.empty())
            continue;
        text += (text.empty() ? "" : ", ") + name;
        ++named;
    }
    return text.empty() ? "the kernel" : text;
}

} // namespace umadvisor::rules
