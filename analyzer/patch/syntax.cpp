#include "analyzer/patch/syntax.hpp"

extern "C" {
const TSLanguage* tree_sitter_cuda();
const TSLanguage* tree_sitter_python();
}

namespace umadvisor::patch {

std::string_view Node::text() const {
    return !*this ? std::string_view() : std::string_view(syntax_->text()).substr(begin(), end() - begin());
}

Node Node::field(std::string_view name) const {
    if (!*this)
        return {};
    return {ts_node_child_by_field_name(node_, name.data(), static_cast<std::uint32_t>(name.size())), *syntax_};
}

std::vector<Node> Node::children() const {
    std::vector<Node> nodes;
    if (!*this)
        return nodes;
    const Cursor cursor(node_);
    for (bool more = ts_tree_cursor_goto_first_child(&cursor.at); more;
         more = ts_tree_cursor_goto_next_sibling(&cursor.at))
        if (const TSNode node = ts_tree_cursor_current_node(&cursor.at); ts_node_is_named(node))
            nodes.emplace_back(node, *syntax_);
    return nodes;
}

Syntax::Syntax(std::string text, Grammar grammar) : text_(std::move(text)) {
    const std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), &ts_parser_delete);
    ts_parser_set_language(parser.get(),
                           grammar == Grammar::python ? tree_sitter_python() : tree_sitter_cuda());
    tree_.reset(
        ts_parser_parse_string(parser.get(), nullptr, text_.data(), static_cast<std::uint32_t>(text_.size())));
}

std::size_t Syntax::errors() const {
    std::size_t count = 0;
    root().walk([&count](const Node& node) {
        count += node.kind() == "ERROR" ? 1 : 0;
        return node.has_error();
    });
    return count;
}

} // namespace umadvisor::patch
