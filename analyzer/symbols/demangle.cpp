#include "analyzer/symbols/demangle.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace umadvisor::symbols {
namespace {

constexpr std::size_t longest = 16 * 1024; ///< the demangler recurses; a hostile trace must not choose how deep

/// Position of `wanted` outside of <> and (), or npos. "operator<" and "operator()" do not occur in CUDA
/// kernels; in host functions they cost a prettier name only.
std::size_t find_outside(std::string_view text, char wanted, bool last) {
    int depth = 0;
    std::size_t result = std::string_view::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && c == wanted) {
            result = i;
            if (!last)
                return result;
        }
        if (c == '<' || c == '(')
            ++depth;
        else if ((c == '>' || c == ')') && depth > 0)
            --depth;
    }
    return result;
}

} // namespace

std::string demangle(std::string_view symbol) {
    if (!symbol.starts_with("_Z") || symbol.size() > longest)
        return std::string(symbol);
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && name ? std::string(name.get()) : std::string(symbol);
}

std::string short_name(std::string_view symbol) {
    const std::string full = demangle(symbol);
    std::string_view text = full;
    constexpr std::string_view anonymous = "(anonymous namespace)::";
    std::string plain;
    for (std::size_t at; (at = text.find(anonymous)) != std::string_view::npos;
         text.remove_prefix(at + anonymous.size()))
        plain.append(text.substr(0, at));
    plain.append(text);
    text = plain;
    if (const std::size_t parameters = find_outside(text, '(', false); parameters != std::string_view::npos)
        text = text.substr(0, parameters);
    if (const std::size_t space = find_outside(text, ' ', true); space != std::string_view::npos)
        text.remove_prefix(space + 1);
    return std::string(text);
}

} // namespace umadvisor::symbols
