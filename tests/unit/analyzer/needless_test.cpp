/// Findings whose calls an earlier finding's remedy leaves out.
#include "analyzer/advice/needless.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_needless)

using namespace umadvisor;
using rules::Finding;
using timeline::Change;

namespace {

const rules::LineOf each_its_own = [](ids::StackId stack) { return stack; };

Finding finding_at(std::uint64_t stack, const rules::Rule& rule, Change::What what, double share) {
    Finding finding;
    finding.rule = &rule;
    finding.stack = ids::StackId(stack);
    Change change;
    change.site.stack = finding.stack;
    change.what = what;
    change.share = share;
    finding.edit.changes = {change};
    return finding;
}

/// Whether the second of the two is said to be needless.
bool is_needless(Finding first, Finding second) {
    std::vector<Finding> all{std::move(first), std::move(second)};
    advice::note_needless(each_its_own, all);
    BOOST_TEST(all.front().details.empty());
    return !all.back().details.empty();
}

const Finding faster_here = finding_at(1, rules::uma_101, Change::What::shorter, 1);

} // namespace

BOOST_AUTO_TEST_CASE(faster_calls_are_needless_where_all_of_them_are_left_out) {
    BOOST_TEST(is_needless(finding_at(1, rules::uma_107, Change::What::gone, 1), faster_here));
    BOOST_TEST(!is_needless(finding_at(1, rules::uma_107, Change::What::gone, 0.5), faster_here));
    BOOST_TEST(!is_needless(finding_at(1, rules::uma_107, Change::What::shorter, 1), faster_here));
    BOOST_TEST(!is_needless(finding_at(2, rules::uma_107, Change::What::gone, 1), faster_here));
}

BOOST_AUTO_TEST_CASE(faster_calls_are_needless_where_the_device_reduces_what_they_copy) {
    BOOST_TEST(is_needless(finding_at(1, rules::uma_129, Change::What::shorter, 1), faster_here));
    BOOST_TEST(!is_needless(finding_at(2, rules::uma_129, Change::What::shorter, 1), faster_here));
}

BOOST_AUTO_TEST_CASE(a_finding_without_an_edit_is_never_needless) {
    Finding words_only = faster_here;
    words_only.edit.changes.clear();
    BOOST_TEST(!is_needless(finding_at(1, rules::uma_107, Change::What::gone, 1), words_only));
}

BOOST_AUTO_TEST_SUITE_END()
