#include "analyzer/symbols/demangle.hpp"

#include "analyzer/reader/shown_name.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <libiberty/demangle.h>
#include <memory>
#include <unordered_map>
#include <utility>

namespace umadvisor::symbols {
namespace {

constexpr int options = DMGL_PARAMS | DMGL_ANSI;
// Any binary may carry a name of 300 bytes that is printed with 100 million.
constexpr std::size_t longest = 16 * 1024;    ///< symbol, and its demangled name
constexpr std::size_t most_parts = 16 * 1024; ///< of a C++ name, those that it refers to again included

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

/// Receives what the demangler prints, and jumps out of it when that is too much. All that libiberty needs for
/// printing is on the stack, so the jump leaks nothing. Only a punycode part of a Rust name would leak: it
/// comes whole, and the jump waits for the next part.
struct Printed {
    std::string text;
    std::jmp_buf too_long;
};

void print(const char* part, std::size_t bytes, void* opaque) {
    Printed& printed = *static_cast<Printed*>(opaque);
    const std::string_view added(part, bytes);
    const bool punycode = std::ranges::any_of(added, [](char c) { return (c & 0x80) != 0; });
    if (printed.text.size() + bytes > longest && !punycode)
        std::longjmp(printed.too_long, 1);
    printed.text += added;
}

/// Text that `demangle(print, opaque)` prints; empty where it fails or prints too much.
template <class Demangle>
std::string printed(const Demangle& demangle) {
    Printed result;
    if (setjmp(result.too_long) != 0 || demangle(&print, &result) == 0)
        return {};
    return std::move(result.text);
}

/// True where a function type or a trait object may have thousands of lifetimes: libiberty counts them up.
bool has_countless_lifetimes(std::string_view symbol) {
    constexpr std::size_t most_digits = 2;
    for (std::size_t i = 1; i < symbol.size(); ++i)
        if (symbol[i] == 'G' && (symbol[i - 1] == 'F' || symbol[i - 1] == 'D')) {
            const std::size_t end = symbol.find_first_not_of(
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
            if (end != std::string_view::npos && symbol[end] == '_' && end - i - 1 > most_digits)
                return true;
        }
    return false;
}

/// Both of Rust's manglings, v0 (_R...) and the older one, which is C++'s with a hash at its end.
std::string demangle_rust(const std::string& symbol) {
    if (symbol.size() > longest || has_countless_lifetimes(symbol))
        return {};
    return printed([&](auto* callback, void* opaque) {
        return rust_demangle_callback(symbol.c_str(), options, callback, opaque);
    });
}

using Part = demangle_component;

/// How many parts a C++ name has when what it refers to stands there again. libiberty walks through them all.
class Parts {
public:
    std::size_t count(const Part* part) {
        if (part == nullptr)
            return 0;
        // What is being counted and met again goes round in a circle.
        const auto [entry, fresh] = counts_.try_emplace(part, most_parts);
        if (fresh) {
            const std::size_t parts = 1 + count_below(*part);
            counts_[part] = std::min(parts, most_parts);
        }
        return counts_[part];
    }

private:
    std::size_t count_below(const Part& part) {
        switch (part.type) {
        case DEMANGLE_COMPONENT_NAME:
        case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
        case DEMANGLE_COMPONENT_FUNCTION_PARAM:
        case DEMANGLE_COMPONENT_SUB_STD:
        case DEMANGLE_COMPONENT_BUILTIN_TYPE:
        case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
        case DEMANGLE_COMPONENT_OPERATOR:
        case DEMANGLE_COMPONENT_CHARACTER:
        case DEMANGLE_COMPONENT_NUMBER:
        case DEMANGLE_COMPONENT_UNNAMED_TYPE:
            return 0;
        case DEMANGLE_COMPONENT_CTOR:
            return count(part.u.s_ctor.name);
        case DEMANGLE_COMPONENT_DTOR:
            return count(part.u.s_dtor.name);
        case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
            return count(part.u.s_extended_operator.name);
        case DEMANGLE_COMPONENT_FIXED_TYPE:
            return count(part.u.s_fixed.length);
        case DEMANGLE_COMPONENT_LAMBDA:
        case DEMANGLE_COMPONENT_DEFAULT_ARG:
            return count(part.u.s_unary_num.sub);
        default:
            return count(part.u.s_binary.left) + count(part.u.s_binary.right);
        }
    }

    std::unordered_map<const Part*, std::size_t> counts_;
};

std::string demangle_cxx(const std::string& symbol) {
    // The demangler recurses; what it takes by itself has no more bytes either.
    constexpr std::size_t longest_cxx = 1024;
    if (!symbol.starts_with("_Z") || symbol.size() > longest_cxx)
        return {};
    void* memory = nullptr;
    Part* const name = cplus_demangle_v3_components(symbol.c_str(), options, &memory);
    const std::unique_ptr<void, void (*)(void*)> owner(memory, std::free);
    if (name == nullptr || Parts().count(name) >= most_parts)
        return {};
    return printed([&](auto* callback, void* opaque) {
        return cplus_demangle_print_callback(options, name, callback, opaque);
    });
}

struct Demangled {
    std::string text;
    bool rust = false;
};

Demangled demangled(std::string_view symbol) {
    symbol = symbol.substr(0, longest + 1); // a binary may have one of megabytes, and many places in it
    if (!symbol.starts_with("_Z") && !symbol.starts_with("_R"))
        return {std::string(symbol)};
    const std::string text(symbol);
    if (std::string name = demangle_rust(text); !name.empty())
        return {std::move(name), true};
    std::string name = demangle_cxx(text);
    return {name.empty() ? text : std::move(name)};
}

} // namespace

std::string demangle(std::string_view symbol) {
    return reader::shown_name(demangled(symbol).text);
}

std::string short_name(std::string_view symbol) {
    const Demangled full = demangled(symbol);
    if (full.rust)
        return reader::shown_name(full.text); // has no parameters, and spaces in it belong to it
    std::string_view text = full.text;
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
    return reader::shown_name(text);
}

} // namespace umadvisor::symbols
