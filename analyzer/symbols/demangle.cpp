#include "analyzer/symbols/demangle.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <libiberty/demangle.h>
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

using Name = std::unique_ptr<char, void (*)(void*)>;

/// Both of Rust's manglings, v0 (_R...) and the older one, which is C++'s with a hash at its end.
Name demangle_rust(const std::string& symbol) {
    return {rust_demangle(symbol.c_str(), DMGL_PARAMS | DMGL_ANSI), std::free};
}

Name demangle_cxx(const std::string& symbol) {
    int status = 0;
    return {abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free};
}

} // namespace

std::string demangle(std::string_view symbol) {
    if ((!symbol.starts_with("_Z") && !symbol.starts_with("_R")) || symbol.size() > longest)
        return std::string(symbol);
    const std::string text(symbol);
    Name name = demangle_rust(text);
    if (!name && symbol.starts_with("_Z"))
        name = demangle_cxx(text);
    return name ? std::string(name.get()) : text;
}

std::string short_name(std::string_view symbol) {
    const std::string full = demangle(symbol);
    if (const std::string text(symbol); text.size() <= longest && demangle_rust(text))
        return full; // has no parameters, and spaces in it belong to it
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
