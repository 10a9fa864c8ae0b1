/// Syntax trees of sources. Tree-sitter parses them: also what is incomplete, and macros that look like calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tree_sitter/api.h>
#include <vector>

namespace umadvisor::patch {

enum class Grammar : std::uint8_t { cuda, python };

class Syntax;

/// A part of a source, or none: that has no text, kind, children or parent. Valid as long as its Syntax.
class Node {
public:
    Node() = default;
    Node(TSNode node, const Syntax& syntax) : node_(node), syntax_(&syntax) {}

    /// False: there is no such part.
    explicit operator bool() const { return syntax_ != nullptr && !ts_node_is_null(node_); }
    bool operator==(const Node& other) const { return ts_node_eq(node_, other.node_); }

    std::string_view kind() const {
        return *this ? ts_node_type(node_) : std::string_view();
    } ///< as the grammar names it: "call_expression"
    std::size_t begin() const { return ts_node_start_byte(node_); }
    std::size_t end() const { return ts_node_end_byte(node_); } ///< behind the last byte
    int first_line() const { return static_cast<int>(ts_node_start_point(node_).row) + 1; }
    int last_line() const { return static_cast<int>(ts_node_end_point(node_).row) + 1; }
    std::string_view text() const;
    bool has_error() const { return ts_node_has_error(node_); }

    Node parent() const { return *this ? Node(ts_node_parent(node_), *syntax_) : Node(); }
    Node field(std::string_view name) const;
    std::vector<Node> children() const; ///< without punctuation

    /// Calls `visit` with this node and the named ones below it, outer ones first; below one for which it
    /// returns false it does not go.
    template <typename Visit>
    void walk(const Visit& visit) const {
        if (!*this)
            return;
        const Cursor cursor(node_);
        for (bool down = visit(*this);;) {
            if (!down || !ts_tree_cursor_goto_first_child(&cursor.at))
                while (!ts_tree_cursor_goto_next_sibling(&cursor.at))
                    if (!ts_tree_cursor_goto_parent(&cursor.at))
                        return;
            const TSNode node = ts_tree_cursor_current_node(&cursor.at);
            down = ts_node_is_named(node) && visit(Node(node, *syntax_));
        }
    }

private:
    /// Trees may be deeper than a stack.
    struct Cursor {
        explicit Cursor(TSNode node) : at(ts_tree_cursor_new(node)) {}
        ~Cursor() { ts_tree_cursor_delete(&at); }
        Cursor(const Cursor&) = delete;
        Cursor& operator=(const Cursor&) = delete;
        mutable TSTreeCursor at;
    };
    TSNode node_{};
    const Syntax* syntax_ = nullptr;
};

/// A source and its tree.
class Syntax {
public:
    Syntax(std::string text, Grammar grammar);
    Syntax(const Syntax&) = delete;
    Syntax& operator=(const Syntax&) = delete;

    const std::string& text() const { return text_; }
    Node root() const { return {ts_tree_root_node(tree_.get()), *this}; }
    /// How many parts could not be parsed.
    std::size_t errors() const;

private:
    struct Delete {
        void operator()(TSTree* tree) const { ts_tree_delete(tree); }
    };
    std::string text_;
    std::unique_ptr<TSTree, Delete> tree_;
};

} // namespace umadvisor::patch
