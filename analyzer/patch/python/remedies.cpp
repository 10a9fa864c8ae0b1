/// Which makers are for which findings of a rule.
#include "analyzer/patch/python/makers.hpp"

#include <initializer_list>

namespace umadvisor::patch::python {
namespace {

/// The edits of the first maker that makes some; otherwise why the first whose form the line has makes none.
Draft first_of(const Request& request, std::initializer_list<Make*> makers) {
    Draft result{.refused = std::string(other_form)};
    for (Make* const make : makers) {
        Draft draft = make(request);
        if (draft.refused.empty())
            return draft;
        if (result.refused == other_form)
            result = std::move(draft);
    }
    return result;
}

} // namespace

Draft read_later(const Request& request) {
    return first_of(request, {&accumulate_on_device, &append_on_device, &read_before_loop});
}

Draft join_copies(const Request& request) {
    return first_of(request, {&stack_then_read, &read_before_loop, &stack_then_upload});
}

Draft upload_once(const Request& request) {
    return first_of(request, {&pin_before_loop, &make_before_loop});
}

Draft mend_statement(const Request& request) {
    const std::string_view title = request.finding.finding.title;
    if (title.starts_with("a constant built"))
        return make_before_loop(request);
    if (title.starts_with("the elements of an array"))
        return read_before_loop(request);
    if (title.starts_with("page-locked memory is filled"))
        return pin_before_loop(request);
    if (title.starts_with("arguments in the host's memory"))
        return put_before_loop(request);
    return {.refused = std::string(other_form)};
}

} // namespace umadvisor::patch::python
