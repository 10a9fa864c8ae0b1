/// Numbers that a line reads from the device.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch::python {
namespace {

/// Methods and functions that bring values to the host.
constexpr std::array<std::string_view, 6> to_host{"item", "tolist", "cpu", "numpy", "asnumpy", "device_get"};
constexpr std::array<std::string_view, 4> to_number{"int", "float", "bool", "len"};
/// Methods of a tensor that return a tensor.
constexpr std::array<std::string_view, 14> of_tensors{"sum",  "mean",   "max",     "min",  "norm",
                                                      "prod", "std",    "var",     "abs",  "square",
                                                      "sqrt", "detach", "squeeze", "clone"};

bool is_any_of(std::string_view name, auto known) {
    return std::ranges::find(known, name) != known.end();
}

} // namespace

bool is_torch_alone(const Syntax& source) {
    constexpr std::array<std::string_view, 4> others{"jax", "cupy", "tensorflow", "numba"};
    return has_module(source, "torch") &&
           std::ranges::none_of(others, [&](std::string_view other) { return imports(source, other); });
}

Node scalar_read_by(const Node& expression) {
    const bool item = calls_method(expression, "item");
    const bool number = !item && expression.kind() == "call" && expression.field("function").text() == "float";
    const Node scalar = item ? object_of(expression) : number ? only_argument(expression) : Node();
    if (!scalar)
        return {};
    bool calls = false, host = false;
    scalar.walk([&](const Node& node) {
        calls |= node.kind() == "call";
        host |= node.kind() == "call" &&
                (is_any_of(callee(node), to_host) || is_any_of(node.field("function").text(), to_number));
        host |= node.kind() == "named_expression" || node.kind() == "await" || node.kind() == "yield";
        return true;
    });
    // A function that is not known may have read the number itself.
    const bool tensor = item || !calls || (object_of(scalar) && is_any_of(callee(scalar), of_tensors));
    return tensor && !host ? scalar : Node();
}

bool is_tensor(const Variable& variable) {
    constexpr std::array<std::string_view, 14> attributes{"tolist", "cpu",  "cuda",  "to",    "item",
                                                          "shape",  "size", "dtype", "view",  "numel",
                                                          "float",  "sum",  "mean",  "detach"};
    bool shown = false;
    for (const Node& use : uses(variable.home, variable.name)) {
        const Node outer = use.parent();
        shown |= outer.kind() == "attribute" && outer.field("object") == use &&
                 is_any_of(outer.field("attribute").text(), attributes);
    }
    for (const Binding& binding : variable.bindings) {
        const std::string_view kind = binding.value ? binding.value.kind() : std::string_view();
        if (kind == "list" || kind == "tuple" || kind == "dictionary" || kind.ends_with("comprehension"))
            return false;
        const Node sign = kind == "binary_operator" ? binding.value.field("operator") : Node();
        shown |= sign && (sign.text() == "-" || sign.text() == "/"); // lists have neither
    }
    return shown;
}

} // namespace umadvisor::patch::python
