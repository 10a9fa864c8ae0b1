/// Advice in the words of Python's frameworks.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/symbols/python_framework.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace umadvisor::rules {

struct PythonAdvice {
    std::string_view rule; ///< its id
    symbols::PythonFramework framework;
    std::string_view advice;
    std::string_view trap; ///< how it comes to nothing or breaks; empty: no such way is known
};

/// A rule's advice that begins so names functions of Python's frameworks already.
inline constexpr std::string_view python_hand_over = "hand it over on the device: ";

/// Null: what the rule says itself holds for Python, too.
const PythonAdvice* python_advice(const Rule& rule, symbols::PythonFramework framework);

/// Of the line of a stack; nothing where that is not Python's to change.
using FrameworkOf = std::function<std::optional<symbols::PythonFramework>(ids::StackId stack)>;

/// Puts Python's words, advice and trap, in the place of the advice of each finding whose line is Python's.
void advise_in_python(std::vector<Finding>& findings, const FrameworkOf& framework_of);

} // namespace umadvisor::rules
