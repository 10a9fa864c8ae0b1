#include "analyzer/reports/flame/tree.hpp"

#include "analyzer/rules/words.hpp"
#include "analyzer/text/columns.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <ostream>
#include <unordered_map>

namespace umadvisor::reports {
namespace {

struct Node {
    std::string name;
    std::uint64_t weight = 0;
    std::deque<Node> children; ///< in the order met; their places do not change
    std::unordered_map<std::string, Node*> by_name;

    Node& child(const std::string& wanted) {
        Node*& known = by_name[wanted];
        if (known == nullptr)
            known = &children.emplace_back(Node{wanted, 0, {}, {}});
        return *known;
    }
};

constexpr std::size_t least_name = 16; ///< a name keeps that much, however narrow the terminal

class Writer {
public:
    Writer(const WeighedStacks& stacks, const TreeStyle& style, std::ostream& out)
        : by_(stacks.by), whole_(static_cast<double>(stacks.sum())), style_(style), out_(out) {}

    void write(const Node& root) { write(root, "", "", text::Style::title); }

private:
    void write(const Node& node, const std::string& before, const std::string& below,
               text::Style style = text::Style::plain) {
        std::vector<const Node*> children;
        std::uint64_t rest = 0, left_out = 0;
        for (const Node& child : node.children) {
            if (percent(child.weight) >= style_.least_percent) {
                children.push_back(&child);
            } else {
                rest += child.weight;
                ++left_out;
            }
        }
        std::ranges::stable_sort(children, std::ranges::greater{}, &Node::weight);
        line(node.weight, before + node.name, style);
        // A frame that has all of its caller's weight stands below it, not beside: stacks are deep.
        const bool alone = children.size() == 1 && children.front()->weight == node.weight;
        for (std::size_t i = 0; i < children.size(); ++i) {
            const bool last = i + 1 == children.size() && left_out == 0;
            write(*children[i],
                  below + (alone  ? ""
                           : last ? "└ "
                                  : "├ "),
                  below + (alone || last ? (alone ? "" : "  ") : "│ "));
        }
        if (left_out != 0)
            line(rest, fmt::format("{}└ ({})", below, text::count_text(left_out, "smaller branch")));
    }
    double percent(std::uint64_t weight) const {
        return whole_ > 0 ? 100 * static_cast<double>(weight) / whole_ : 0;
    }
    void line(std::uint64_t weight, const std::string& text, text::Style style = text::Style::plain) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "%5.1f%% %9s  ", percent(weight),
                      weight_text(by_, weight).c_str());
        const std::size_t left = style_.width - std::min(style_.width, text::columns(numbers));
        out_ << numbers
             << text::Styled{style, style_.width == 0 ? text : text::cut(text, std::max(least_name, left))}
             << "\n";
    }

    Weight by_;
    double whole_;
    const TreeStyle& style_;
    std::ostream& out_;
};

} // namespace

void write_tree(const WeighedStacks& stacks, const TreeStyle& style, std::ostream& out) {
    Node root{fmt::format("{}: {}", stacks.program, title(stacks.by)), stacks.sum(), {}, {}};
    for (const WeighedStack& stack : stacks.stacks) {
        Node* node = &root;
        for (const symbols::CodePlace& frame : stack.frames) {
            node = &node->child(frame_text(frame));
            node->weight += stack.weight;
        }
    }
    Writer(stacks, style, out).write(root);
}

} // namespace umadvisor::reports
