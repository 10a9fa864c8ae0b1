#include "analyzer/patch/makers.hpp"

#include "analyzer/patch/python/makers.hpp"

#include <algorithm>

namespace umadvisor::patch {
namespace {

/// Of several makers for a rule, the first that makes edits counts.
struct Maker {
    std::string_view rule;
    symbols::Language language;
    Make* make;
    bool keeps_order = false; ///< by what it inserts, also where the remedy alone would not
};
constexpr auto native = symbols::Language::native, python_code = symbols::Language::python;
constexpr Maker makers[] = {
    {"UMA-202", native, &insert_calls},
    {"UMA-203", native, &insert_calls},
    {"UMA-205", native, &insert_calls},
    {"UMA-214", native, &insert_calls},
    {"UMA-601", native, &insert_calls},
    {"UMA-303", native, &remove_statements},
    {"UMA-501", native, &remove_statements},
    {"UMA-506", native, &remove_statements},
    {"UMA-401", native, &hoist_out_of_loop},
    {"UMA-407", native, &hoist_out_of_loop},
    {"UMA-410", native, &hoist_out_of_loop},
    {"UMA-411", native, &hoist_out_of_loop},
    {"UMA-413", native, &hoist_out_of_loop},
    {"UMA-418", native, &hoist_out_of_loop},
    {"UMA-401", native, &allocate_in_stream_order},
    {"UMA-404", native, &free_leaked},
    {"UMA-414", native, &keep_pool_memory},
    {"UMA-411", native, &hoist_graph},
    {"UMA-121", native, &copy_to_device},
    {"UMA-110", native, &own_stream},
    {"UMA-106", native, &move_copies},
    {"UMA-107", native, &move_copies},
    {"UMA-212", native, &hoist_prefetch},
    {"UMA-218", native, &join_prefetches},
    {"UMA-507", native, &ask_once},
    {"UMA-602", native, &wait_for_work},
    {"UMA-603", native, &wait_for_work},
    {"UMA-604", native, &wait_for_work},
    {"UMA-701", native, &correct_failing_call},
    {"UMA-120", native, &enable_peer_access},
    {"UMA-111", native, &swap_pointers},
    {"UMA-101", native, &page_lock_buffer, true},
    {"UMA-102", native, &page_lock_buffer, true},
    {"UMA-109", native, &page_lock_buffer},
    {"UMA-101", python_code, &python::upload_once},
    {"UMA-102", python_code, &python::pin_downloads, true},
    {"UMA-103", python_code, &python::join_copies},
    {"UMA-106", python_code, &python::upload_once},
    {"UMA-108", python_code, &python::upload_once},
    {"UMA-112", python_code, &python::read_later, true},
    {"UMA-114", python_code, &python::upload_once},
    {"UMA-116", python_code, &python::mend_statement},
    {"UMA-401", python_code, &python::keep_freed_memory},
    {"UMA-406", python_code, &python::unpin},
    {"UMA-414", python_code, &python::keep_freed_memory},
    {"UMA-417", python_code, &python::drop_graphs},
};

} // namespace

bool is_known(std::string_view rule, symbols::Language language) {
    return std::ranges::any_of(
        makers, [&](const Maker& maker) { return maker.rule == rule && maker.language == language; });
}

Draft draft(symbols::Language language, const Request& request) {
    const rules::Finding& finding = request.finding.finding;
    const bool order_is_lost = finding.order == rules::Order::named || finding.order == rules::Order::unknown;
    Draft made{.refused = "a patch for its remedy is not known"};
    for (const Maker& maker : makers) {
        if (maker.rule != finding.rule->id || maker.language != language)
            continue;
        made = order_is_lost && !maker.keeps_order
                   ? Draft{.refused = "its remedy needs an order that the program has to keep by itself"}
                   : maker.make(request);
        if (made.refused.empty())
            break;
    }
    return made;
}

} // namespace umadvisor::patch
