#include "analyzer/symbols/source_call.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <vector>

namespace umadvisor::symbols {
namespace {

constexpr std::size_t longest_expression = 60, longest_call = 4096, longest_source = 2 << 20;

/// Which arguments of a call mean what; -1: none.
struct Form {
    std::string_view name;
    CallKind kind;
    std::size_t least, most; ///< arguments
    int pointer, from, bytes, stream;
    bool out = false; ///< the pointer is passed by its address
};
constexpr auto forms = std::to_array<Form>({
    {"cudaMalloc", CallKind::allocation, 2, 2, 0, -1, 1, -1, true},
    {"cudaMallocManaged", CallKind::allocation, 2, 3, 0, -1, 1, -1, true},
    {"cudaMallocHost", CallKind::allocation, 2, 3, 0, -1, 1, -1, true},
    {"cudaHostAlloc", CallKind::allocation, 3, 3, 0, -1, 1, -1, true},
    {"cudaMallocAsync", CallKind::allocation, 3, 3, 0, -1, 1, 2, true},
    {"cudaHostRegister", CallKind::registration, 3, 3, 0, -1, 1, -1},
    {"cudaMemcpy", CallKind::copy, 4, 4, 0, 1, 2, -1},
    {"cudaMemcpyAsync", CallKind::copy, 4, 5, 0, 1, 2, 4},
    {"cudaMemset", CallKind::set, 3, 3, 0, -1, 2, -1},
    {"cudaMemsetAsync", CallKind::set, 3, 4, 0, -1, 2, 3},
    {"cudaMemPrefetchAsync", CallKind::prefetch, 4, 5, 0, -1, 1, -1}, // its stream has two places
    {"cudaFree", CallKind::free, 1, 1, 0, -1, -1, -1},
    {"cudaFreeHost", CallKind::free, 1, 1, 0, -1, -1, -1},
    {"cudaFreeAsync", CallKind::free, 2, 2, 0, -1, -1, 1},
    {"cudaStreamSynchronize", CallKind::wait, 1, 1, -1, -1, -1, 0},
    {"cudaStreamQuery", CallKind::query, 1, 1, -1, -1, -1, 0},
    {"cudaEventQuery", CallKind::query, 1, 1, 0, -1, -1, -1},
    {"cuMemAlloc", CallKind::allocation, 2, 2, 0, -1, 1, -1, true},
    {"cuMemAllocManaged", CallKind::allocation, 3, 3, 0, -1, 1, -1, true},
    {"cuMemAllocHost", CallKind::allocation, 2, 2, 0, -1, 1, -1, true},
    {"cuMemHostAlloc", CallKind::allocation, 3, 3, 0, -1, 1, -1, true},
    {"cuMemHostRegister", CallKind::registration, 3, 3, 0, -1, 1, -1},
    {"cuMemcpyHtoD", CallKind::copy, 3, 3, 0, 1, 2, -1},
    {"cuMemcpyDtoH", CallKind::copy, 3, 3, 0, 1, 2, -1},
    {"cuMemcpyDtoD", CallKind::copy, 3, 3, 0, 1, 2, -1},
    {"cuMemcpyHtoDAsync", CallKind::copy, 4, 4, 0, 1, 2, 3},
    {"cuMemcpyDtoHAsync", CallKind::copy, 4, 4, 0, 1, 2, 3},
    {"cuMemcpyDtoDAsync", CallKind::copy, 4, 4, 0, 1, 2, 3},
    {"cuMemFree", CallKind::free, 1, 1, 0, -1, -1, -1},
    {"cuMemFreeHost", CallKind::free, 1, 1, 0, -1, -1, -1},
    {"cuMemFreeAsync", CallKind::free, 2, 2, 0, -1, -1, 1},
    {"cuStreamSynchronize", CallKind::wait, 1, 1, -1, -1, -1, 0},
    {"cuStreamQuery", CallKind::query, 1, 1, -1, -1, -1, 0},
    {"cuEventQuery", CallKind::query, 1, 1, 0, -1, -1, -1},
    {"cuLaunchKernel", CallKind::launch, 11, 11, -1, -1, -1, 8},
});

bool is_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string_view stripped(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_space(text.back()))
        text.remove_suffix(1);
    return text;
}

/// The end of a string that begins there.
std::size_t end_of_string(std::string_view source, std::size_t at) {
    if (at > 0 && source[at - 1] == 'R' && source[at] == '"') {
        const std::size_t open = source.find('(', at);
        if (open == std::string_view::npos)
            return source.size();
        const std::string close = ")" + std::string(source.substr(at + 1, open - at - 1)) + "\"";
        const std::size_t end = source.find(close, open);
        return end == std::string_view::npos ? source.size() : end + close.size();
    }
    const char quote = source[at];
    for (++at; at < source.size() && source[at] != quote && source[at] != '\n'; ++at)
        if (source[at] == '\\')
            ++at;
    return std::min(at + 1, source.size());
}

/// The source with spaces for comments and directives, and with strings that hold nothing but quotation marks.
/// Lines keep their places.
std::string code_of(std::string_view source) {
    std::string code(source);
    const auto blank = [&code](std::size_t from, std::size_t to, char with) {
        for (std::size_t i = from; i < std::min(to, code.size()); ++i)
            if (code[i] != '\n')
                code[i] = with;
    };
    bool begins_line = true;
    for (std::size_t at = 0; at < code.size();) {
        const char c = code[at];
        std::size_t end = at + 1;
        if (code.compare(at, 2, "//") == 0 || (begins_line && c == '#')) {
            do
                end = std::min(code.find('\n', end), code.size() - 1) + 1;
            while (end < code.size() && end >= 2 && code[end - 2] == '\\');
            blank(at, end, ' ');
            begins_line = true;
        } else if (code.compare(at, 2, "/*") == 0) {
            end = code.find("*/", at + 2);
            end = end == std::string::npos ? code.size() : end + 2;
            blank(at, end, ' ');
        } else if (c == '"' || (c == '\'' && (at == 0 || !is_letter(code[at - 1])))) {
            end = end_of_string(source, at);
            blank(at, end, '"');
            begins_line = false;
        } else if (c == '\n') {
            begins_line = true;
        } else if (!is_space(c)) {
            begins_line = false;
        }
        at = end;
    }
    return code;
}

/// Behind the bracket that closes the one there; npos: none does soon.
std::size_t behind_closing(std::string_view code, std::size_t at) {
    code = code.substr(0, std::min(code.size(), at + longest_call));
    int depth = 0;
    for (; at < code.size(); ++at) {
        if (code[at] == '(' || code[at] == '[' || code[at] == '{')
            ++depth;
        else if ((code[at] == ')' || code[at] == ']' || code[at] == '}') && --depth == 0)
            return at + 1;
        else if (code[at] == ';' && depth <= 1)
            break;
    }
    return std::string_view::npos;
}

std::vector<std::string_view> parts_of(std::string_view arguments) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at <= arguments.size(); ++at) {
        const char c = at == arguments.size() ? ',' : arguments[at];
        depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
        if (c == ',' && (depth == 0 || at == arguments.size())) {
            parts.push_back(stripped(arguments.substr(begin, at - begin)));
            begin = at + 1;
        }
    }
    return parts;
}

bool is_number(std::string_view word) {
    return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

constexpr std::array<std::string_view, 16> type_words{
    "unsigned", "signed", "const",  "long",    "int",      "short",    "char", "struct",
    "float",    "double", "size_t", "int32_t", "uint32_t", "uint64_t", "bool", "int64_t"};
bool is_type_word(std::string_view word) {
    return std::ranges::find(type_words, word) != type_words.end();
}

/// The word that ends there.
std::string_view word_before(std::string_view text, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && is_letter(text[begin - 1]))
        --begin;
    return text.substr(begin, end - begin);
}

/// Whether what stands before a bracket makes it a call that may do something.
bool may_act(std::string_view text, std::size_t bracket) {
    const std::string_view before = stripped(text.substr(0, bracket));
    if (before.empty())
        return false;
    if (before.back() == '>') { // a cast of C++
        const std::size_t open = before.rfind('<');
        return open == std::string_view::npos || !word_before(before, open).ends_with("_cast");
    }
    if (before.back() == ')') { // a cast of C
        const std::size_t open = before.rfind('(');
        const std::string_view type = stripped(before.substr(open + 1, before.size() - open - 2));
        return !type.ends_with('*') && !is_type_word(word_before(type, type.size()));
    }
    const std::string_view word = word_before(before, before.size());
    if (word.empty())
        return before.back() == ']' || before.back() == '}';
    if (word == "sizeof" || word == "raw_pointer_cast" || is_type_word(word))
        return false;
    const std::string_view owner = stripped(before.substr(0, before.size() - word.size()));
    const bool looks = word == "data" || word == "size" || word == "get";
    return !looks || !(owner.ends_with('.') || owner.ends_with("->")) ||
           stripped(text.substr(bracket + 1)).substr(0, 1) != ")";
}

/// An expression that may be evaluated again, on one line; empty: this may not.
std::string plain(std::string_view code) {
    std::string text;
    for (const char c : stripped(code))
        if (!is_space(c))
            text += c;
        else if (!text.empty() && text.back() != ' ')
            text += ' ';
    if (text.empty() || text.size() > longest_expression || text.find_first_of("\"';{}?#\\@`$") != text.npos ||
        text.find("++") != text.npos || text.find("--") != text.npos || std::ranges::none_of(text, is_letter))
        return {};
    std::string_view last;
    bool spaced = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (is_letter(c)) {
            std::size_t end = at;
            while (end < text.size() && is_letter(text[end]))
                ++end;
            const std::string_view word = std::string_view(text).substr(at, end - at);
            if (word == "new" || word == "delete" || word == "throw" || word == "co_await" ||
                (!last.empty() && spaced && !is_type_word(last) && last != "sizeof"))
                return {};
            last = word;
            spaced = false;
            at = end - 1;
            continue;
        }
        if (c == ' ') {
            spaced = true;
            continue;
        }
        const char before = at > 0 ? text[at - 1] : ' ', next = at + 1 < text.size() ? text[at + 1] : ' ';
        const bool compares = next == '=' || before == '=' || before == '!' ||
                              ((before == '<' || before == '>') && (at < 2 || text[at - 2] != before));
        if ((c == '=' && !compares) || (c == '[' && last.empty()) || (c == '(' && may_act(text, at)))
            return {};
        // A declaration: this is no call.
        const std::size_t behind = text.find_first_not_of("*& ", at);
        if ((c == '*' || c == '&') && is_type_word(last) && behind != text.npos && is_letter(text[behind]))
            return {};
        last = c == ']' || c == ')' ? std::string_view("]") : std::string_view();
        spaced = false;
    }
    return text;
}

/// What an expression in brackets, or casts, are around.
std::string_view without_casts(std::string_view code) {
    code = stripped(code);
    for (bool again = true; again;) {
        again = false;
        std::size_t open = 0;
        if (const std::size_t cast = code.find("_cast"); cast != code.npos && cast < 12)
            open = code.find('(', cast);
        if (open >= code.size() || code[open] != '(')
            break;
        const std::size_t end = behind_closing(code, open);
        if (end == code.size()) {
            code = stripped(code.substr(open + 1, end - open - 2));
            again = true;
        } else if (open == 0 && end != code.npos && stripped(code.substr(0, end - 1)).ends_with('*')) {
            code = stripped(code.substr(end));
            again = true;
        }
    }
    return code;
}

/// The variable whose address is passed.
std::string pointee(std::string_view argument) {
    argument = without_casts(argument);
    if (!argument.starts_with('&')) {
        const bool path = std::ranges::all_of(argument, [](char c) { return is_letter(c) || c == '.'; });
        return path && !argument.empty() && !is_number(argument) ? "*" + std::string(argument) : std::string();
    }
    argument = stripped(argument.substr(1));
    if (!argument.empty() && argument.front() == '(' && behind_closing(argument, 0) == argument.size())
        argument = stripped(argument.substr(1, argument.size() - 2));
    return plain(argument);
}

std::string_view bare(std::string_view name) {
    for (const std::string_view end : {"_v2", "_ptsz", "_ptds"})
        if (name.ends_with(end))
            name.remove_suffix(end.size());
    return name;
}

std::optional<SourceCall> call_of(std::string_view name, const std::vector<std::string_view>& arguments) {
    const auto* const form = std::ranges::find(forms, bare(name), &Form::name);
    if (form == forms.end() || arguments.size() < form->least || arguments.size() > form->most)
        return std::nullopt;
    SourceCall call;
    call.kind = form->kind;
    const auto at = [&arguments](int number) {
        const auto index = static_cast<std::size_t>(number);
        return number < 0 || index >= arguments.size() ? std::string() : plain(arguments[index]);
    };
    call.pointer = form->pointer < 0 ? "" : form->out ? pointee(arguments[0]) : at(form->pointer);
    call.from = at(form->from);
    call.bytes = at(form->bytes);
    call.stream = at(form->stream);
    if (form->stream >= 0 && static_cast<std::size_t>(form->stream) >= arguments.size())
        call.stream = "0";
    if (form->kind == CallKind::prefetch)
        call.stream = plain(arguments.back());
    if (form->name.starts_with("cudaMemcpy"))
        call.copies = at(3);
    else if (form->kind == CallKind::copy)
        call.copies = form->name.starts_with("cuMemcpyHtoD")   ? "cudaMemcpyHostToDevice"
                      : form->name.starts_with("cuMemcpyDtoH") ? "cudaMemcpyDeviceToHost"
                                                               : "cudaMemcpyDeviceToDevice";
    return call;
}

SourceCall launch_of(const std::vector<std::string_view>& configuration) {
    SourceCall call;
    call.kind = CallKind::launch;
    call.stream = configuration.size() < 4 ? "0" : plain(configuration[3]);
    return call;
}

} // namespace

SourceCall call_at(std::string_view source, int line) {
    if (source.size() > longest_source)
        return {};
    const std::string code = code_of(source);
    const std::string_view text = code;
    std::size_t line_begin = 0;
    for (int number = 1; number < line; ++number)
        if ((line_begin = text.find('\n', line_begin) + 1) == 0)
            return {};
    const std::size_t line_end = std::min(text.find('\n', line_begin), text.size());
    if (line_end - line_begin > longest_call)
        return {};
    std::vector<SourceCall> found;
    for (std::size_t at = line_begin - std::min(line_begin, longest_call); at < line_end; ++at) {
        std::optional<SourceCall> call;
        std::size_t end = std::string_view::npos;
        if (text.substr(at).starts_with("<<<")) {
            const std::size_t close = text.substr(0, at + longest_call).find(">>>", at);
            const std::size_t open =
                close == text.npos ? text.npos : text.substr(0, close + longest_call).find('(', close);
            if (open == text.npos || text.substr(at, close - at).find(';') != text.npos)
                continue;
            end = behind_closing(text, open);
            call = launch_of(parts_of(text.substr(at + 3, close - at - 3)));
            at += 2;
        } else if (text.substr(at).starts_with("cu") && (at == 0 || !is_letter(text[at - 1]))) {
            std::size_t behind = at;
            while (behind < text.size() && is_letter(text[behind]))
                ++behind;
            const std::string_view name = text.substr(at, behind - at);
            const std::string_view before =
                stripped(text.substr(at < 64 ? 0 : at - 64, std::min<std::size_t>(at, 64)));
            at = behind - 1;
            while (behind < text.size() && is_space(text[behind]))
                ++behind;
            if (behind == text.size() || text[behind] != '(' || before.ends_with('.') || before.ends_with("->"))
                continue;
            end = behind_closing(text, behind);
            if (end != text.npos)
                call = call_of(name, parts_of(text.substr(behind + 1, end - behind - 2)));
        }
        if (call && end != text.npos && end > line_begin)
            found.push_back(std::move(*call));
    }
    return found.size() == 1 ? found[0] : SourceCall();
}

namespace {

/// Whether this code may give `name` another value: an assignment, ++, --, or its address given away.
bool may_change(std::string_view code, std::string_view name) {
    for (std::size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at > 0 && is_letter(code[at - 1])) || (end < code.size() && is_letter(code[end])))
            continue;
        const std::string_view before = stripped(code.substr(0, at)), behind = stripped(code.substr(end, 64));
        const bool assigned =
            !behind.starts_with("==") && (behind.starts_with('=') ||
                                          (behind.size() > 1 && behind[1] == '=' &&
                                           std::string_view("+-*/%&|^").find(behind[0]) != behind.npos) ||
                                          behind.starts_with("<<=") || behind.starts_with(">>="));
        const bool counted = behind.starts_with("++") || behind.starts_with("--") || before.ends_with("++") ||
                             before.ends_with("--");
        if (assigned || counted || (before.ends_with('&') && !before.ends_with("&&")))
            return true;
    }
    return false;
}

} // namespace

bool holds_at(std::string_view source, std::string_view expression, int first, int second) {
    for (std::size_t at = expression.find('['); at != expression.npos; at = expression.find('[', at + 1))
        if (!is_number(stripped(expression.substr(at + 1))))
            return false;
    if (first == second)
        return true;
    if (first > second || source.size() > longest_source)
        return false;
    const std::string code = code_of(source);
    int line = 1, depth = 0;
    std::size_t begin = code.npos, end = code.size(); // of the lines between both
    for (std::size_t i = 0; i < code.size(); ++i) {
        const char c = code[i];
        if (c == '\n' && ++line > second)
            break;
        if (c == '\n' && line == first + 1)
            begin = i;
        if (c == '\n' && line == second)
            end = i;
        // A block that begins on the first line may be around the call.
        if (line >= first && c == '{')
            depth += line == first ? 0 : 1;
        else if (line >= first && c == '}' && --depth < 0)
            return false;
    }
    if (line < second || begin == code.npos)
        return line >= second;
    const std::string_view between = std::string_view(code).substr(begin, std::max(begin, end) - begin);
    for (std::size_t at = 0; at < expression.size();) {
        std::size_t word = at;
        while (word < expression.size() && is_letter(expression[word]))
            ++word;
        if (word > at && !is_number(expression.substr(at, word - at)) &&
            may_change(between, expression.substr(at, word - at)))
            return false;
        at = word + 1;
    }
    return true;
}

} // namespace umadvisor::symbols
