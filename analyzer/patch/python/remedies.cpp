/// Which makers are for which findings of a rule.
#include "analyzer/patch/python/makers.hpp"

#include <initializer_list>

namespace umadvisor::patch::python {
namespace {

/// The edits of the first maker that makes some; otherwise why the first whose form the line has makes none.
/// What the grammar does not know may use any name.
Draft first_of(const Request& request, std::initializer_list<Make*> makers) {
    if (request.source.root().has_error())
        return {.refused = "the file has parts that could not be parsed"};
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
        return first_of(request, {&make_before_loop});
    if (title.starts_with("the elements of an array"))
        return first_of(request, {&read_before_loop});
    if (title.starts_with("page-locked memory is filled"))
        return first_of(request, {&pin_before_loop});
    if (title.starts_with("arguments in the host's memory"))
        return first_of(request, {&put_before_loop});
    return {.refused = std::string(other_form)};
}

Draft pin_downloads(const Request& request) {
    return first_of(request, {&download_to_pinned});
}

Draft drop_graphs(const Request& request) {
    return first_of(request, {&detach_kept});
}

Draft unpin(const Request& request) {
    return first_of(request, {&leave_unpinned});
}

Draft keep_freed_memory(const Request& request) {
    return first_of(request, {&keep_cache});
}

} // namespace umadvisor::patch::python
