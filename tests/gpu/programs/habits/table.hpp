#pragma once
// Every habit with its ways: what each row is labelled with follows from the function it names, and from
// nothing that is measured.
#include "alternation.hpp"
#include "one_way.hpp"
#include "prefetched.hpp"
#include "residence.hpp"
#include "together.hpp"

namespace habits {

struct Row {
    const char* habit;
    const char* kind;
    const char* way;
    const char* label; ///< the verdict that the array deserves; a near twin may have another habit
    const char* also;  ///< verdicts, by comma, that hold as well and are no mistake
    void (*behave)(Trial&);
};

inline constexpr Row table[] = {
    {"thrashing", "clear", "kernel-and-loop", "thrashing", "ping_pong", one_kernel_one_loop},
    {"thrashing", "clear", "turns-100us", "thrashing", "ping_pong", turns_100us},
    {"thrashing", "near", "one-after-the-other", "none", "", one_after_the_other},
    {"thrashing", "near", "turns-5ms", "ping_pong", "", turns_5ms},
    {"thrashing", "borderline", "turns-400us", "thrashing", "ping_pong", turns_400us},
    {"thrashing", "borderline", "turns-600us", "ping_pong", "thrashing", turns_600us},

    {"ping_pong", "clear", "host-loop", "ping_pong", "", host_loop},
    {"ping_pong", "near", "host-part-in-kernel", "none", "", host_part_in_kernel},
    {"ping_pong", "near", "pinned-result", "none", "", host_reads_pinned_result},
    {"ping_pong", "near", "one-round", "read_back", "", read_all},
    {"ping_pong", "borderline", "two-rounds", "ping_pong", "read_back", host_loop_twice},
    {"ping_pong", "borderline", "half", "ping_pong", "", host_loop_half},

    {"first_touch", "clear", "fill-kernel", "first_touch", "", fill_then_kernel},
    {"first_touch", "near", "prefetch", "none", "", fill_prefetch_kernel},
    {"first_touch", "near", "device-fill", "none", "", fill_in_kernel},
    {"first_touch", "borderline", "half-prefetched", "first_touch", "", fill_prefetch_half_kernel},

    {"host_populate", "clear", "counted", "host_populate", "first_touch", count_on_host},
    {"host_populate", "clear", "counted-prefetched", "host_populate", "", count_on_host_prefetched},
    {"host_populate", "near", "file", "first_touch", "", file_on_host},
    {"host_populate", "near", "file-prefetched", "none", "", file_on_host_prefetched},
    {"host_populate", "borderline", "looked-at-once", "host_populate", "", count_on_host_look_once},

    {"read_back", "clear", "read-all", "read_back", "", read_all},
    {"read_back", "near", "prefetch", "none", "", prefetch_then_read_all},
    {"read_back", "near", "one-page", "none", "", read_one_page},
    {"read_back", "borderline", "half", "read_back", "", read_half},

    {"false_sharing", "clear", "in-page", "false_sharing", "ping_pong", flag_in_page},
    {"false_sharing", "clear", "in-block", "false_sharing", "ping_pong", flag_in_block},
    {"false_sharing", "clear", "variable", "false_sharing", "ping_pong", flag_in_variable},
    {"false_sharing", "near", "own-allocation", "none", "", flag_of_its_own},
    {"false_sharing", "near", "other-block", "none", "", flag_in_other_block},
    {"false_sharing", "borderline", "two-rounds", "false_sharing", "ping_pong", flag_in_page_twice},

    {"read_only_bouncing", "clear", "both-read", "read_only_bouncing", "ping_pong", both_read},
    {"read_only_bouncing", "near", "read-mostly", "none", "", both_read_duplicated},
    {"read_only_bouncing", "near", "one-writes", "ping_pong", "", one_writes_one_reads},
    {"read_only_bouncing", "borderline", "one-write", "read_only_bouncing", "ping_pong", both_read_one_write},

    {"remote_access", "clear", "many", "remote_access", "", remote_many},
    {"remote_access", "near", "once", "none", "", remote_once},
    {"remote_access", "near", "local", "none", "", local_many},
    {"remote_access", "borderline", "thrice", "remote_access", "", remote_thrice},

    {"oversubscribed", "clear", "passes", "oversubscribed", "", above_capacity},
    {"oversubscribed", "near", "passes", "none", "", below_capacity},
    {"oversubscribed", "borderline", "just-above", "oversubscribed", "", just_above_capacity},

    {"prefetch_ping_pong", "clear", "unused", "prefetch_ping_pong", "unused_prefetch", back_and_forth},
    {"prefetch_ping_pong", "near", "both-use", "none", "", back_and_forth_both_use},
    {"prefetch_ping_pong", "borderline", "device-uses", "prefetch_ping_pong", "", back_and_forth_device_uses},

    {"late_prefetch", "clear", "aside", "late_prefetch", "first_touch", kernel_then_prefetch_aside},
    {"late_prefetch", "clear", "after", "late_prefetch", "first_touch,redundant_prefetch",
     kernel_then_prefetch},
    {"late_prefetch", "near", "before", "none", "", prefetch_then_kernel},
    {"late_prefetch", "near", "aside-event", "none", "", prefetch_aside_event_kernel},
    {"late_prefetch", "borderline", "aside-unordered", "late_prefetch", "first_touch",
     prefetch_aside_then_kernel},

    {"redundant_prefetch", "clear", "resident", "redundant_prefetch", "", prefetch_resident},
    {"redundant_prefetch", "near", "elsewhere", "none", "", back_and_forth_both_use},
    {"redundant_prefetch", "borderline", "thrice", "redundant_prefetch", "", prefetch_thrice},

    {"unused_prefetch", "clear", "prefetched-back", "unused_prefetch", "prefetch_ping_pong", visit_unused},
    {"unused_prefetch", "clear", "faulted-back", "unused_prefetch", "", visit_unused_faulted_back},
    {"unused_prefetch", "near", "used", "none", "", visit_used},
    {"unused_prefetch", "borderline", "one-page", "unused_prefetch", "", visit_one_page_used},

    {"none", "clear", "device", "none", "", stay_on_device},
    {"none", "clear", "host", "none", "", stay_on_host},
    {"none", "near", "there-and-back", "none", "", there_and_back_once},
};

} // namespace habits
