/// What statements of Python cost around the CUDA calls that they make.
#pragma once

#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/rules/python/statements.hpp"
#include "analyzer/rules/rule.hpp"
#include "analyzer/symbols/python_framework.hpp"
#include "analyzer/symbols/python_stack.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// Whether two stacks end at one line of one function, whosever that is. No object file is looked into for
/// this.
class SameStatement {
public:
    explicit SameStatement(const reader::Dictionary& dictionary)
        : dictionary_(dictionary), lines_(dictionary) {}

    bool operator()(ids::StackId one, ids::StackId other) {
        const auto first = place_of(one);
        return first.first != 0 && first == place_of(other);
    }
    /// The code of that function; 0: not known.
    std::uint64_t function_of(ids::StackId stack) { return place_of(stack).first; }

private:
    /// Code and line; 0: not known.
    std::pair<std::uint64_t, int> place_of(ids::StackId stack);

    const reader::Dictionary& dictionary_;
    symbols::PythonLines lines_;
};

/// What goes with calls of Python code that a remedy takes away, nanoseconds.
struct StatementTime {
    std::uint64_t calls = 0;
    double before_ns = 0; ///< of the thread's own time before the calls, which surely is theirs
    double call_ns = 0;
    double wait_ns = 0; ///< the waits that follow them, and what lies between

    double sum_ns() const { return before_ns + call_ns + wait_ns; }
    void add(const StatementTime& more) {
        calls += more.calls;
        before_ns += more.before_ns;
        call_ns += more.call_ns;
        wait_ns += more.wait_ns;
    }
};

/// A statement's time is that from its line's first call to its last, and at most `usual_ns` before the first:
/// a framework needs as long before the first call as between two calls. Time further back may belong to other
/// code of the program.
class PythonStatements {
public:
    /// Both must outlive it.
    PythonStatements(const Profile& profile, const LineOf& line_of);

    /// The median time between two calls of one line that are not parts of one operation.
    double usual_ns() const { return usual_ns_; }
    /// The time of a copy's calls, with the waits of its line that follow at once. Adds this share of the calls
    /// to `edited`.
    StatementTime of_copy(const PythonSite& copy, EditedCalls& edited, double share = 1) const;
    /// Of the thread's own time before the copy's calls, what lies further back, to calls of the same function.
    double rest_before(const PythonSite& copy, SameStatement& place) const;

private:
    const Profile& profile_;
    const LineOf& line_of_;
    double usual_ns_;
};

/// Copies on the host to page-locked memory just before uploads of it, by the same line.
struct Fills {
    std::uint64_t count = 0;
    double ns = 0;
};
/// By the call site of the uploads.
std::map<ids::CallSite, Fills> fills_before_uploads(const Profile& profile);

/// The framework whose code made a call, the innermost one.
symbols::PythonFramework innermost_framework(const reader::Dictionary& dictionary, ids::StackId stack);
/// Whether the calls of a site read the elements of arrays in device memory one by one.
bool reads_elements(const PythonSite& site);
/// Whether the calls of a site bring the same few bytes of pageable memory to the device again and again.
bool is_constant_upload(const PythonSite& site);
/// Findings on loops over the elements of such an array, which one read for all would spare.
std::vector<Finding> element_loops(const Profile& profile, const LineOf& line_of,
                                   const PythonStatements& statements);
/// Whether most calls of a site wait for what uploads of such a kind bring, and are their statement's.
bool waits_for_constant_upload(const Profile& profile, const ids::CallSite& wait);

} // namespace umadvisor::rules
