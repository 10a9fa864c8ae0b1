/// What all rules together say of the programs in tests, for reported_test.py.
#pragma once

#include "analyzer/rules/finding.hpp"

#include <string>
#include <vector>

namespace umadvisor::test {

/// Appends to the file that UMADVISOR_REPORTED names the rules of `found` under the name of the test. Of the
/// first program that a rule speaks of, also which figures of another machine the advice has ("figure ...").
void write_reported(const std::string& test, const std::string& trace,
                    const std::vector<rules::Finding>& found);

} // namespace umadvisor::test
