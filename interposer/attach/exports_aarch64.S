// The exported side of every entry point, and the pass-through of those that are only counted, for aarch64. See
// exports_x86_64.S. x9 to x17 are scratch in the calling convention (AAPCS64, 6.1.1).

    .text

// All argument registers live on across a call of `function`, which gets the entry's number, in x17. x16: its answer.
    .macro keep_arguments_and_call function
    stp x29, x30, [sp, #-224]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x17, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x0, x17
    bl \function
    mov x16, x0
    ldp q6, q7, [sp, #192]
    ldp q4, q5, [sp, #160]
    ldp q2, q3, [sp, #128]
    ldp q0, q1, [sp, #96]
    ldp x8, x17, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #224
    .endm

    .type resolve_and_go, %function
resolve_and_go:                     // x17: the entry's number
    keep_arguments_and_call umadvisor_find_driver
    ldr x16, [x16, x17, lsl #3]
    br x16
    .size resolve_and_go, .-resolve_and_go

// A call that is only counted, while every call is looked at (act/attention.hpp).
    .type look_and_go, %function
look_and_go:               // x17: the entry's number
    keep_arguments_and_call umadvisor_before_counted_call
    adrp x9, umadvisor_counters
    ldr x9, [x9, :lo12:umadvisor_counters]
    add x9, x9, x17, lsl #3
    1: ldxr x10, [x9]
    add x10, x10, #1
    stxr w11, x10, [x9]
    cbnz w11, 1b
    adrp x16, umadvisor_real_table
    add x16, x16, :lo12:umadvisor_real_table
    ldr x16, [x16, x17, lsl #3]
    br x16
    .size look_and_go, .-look_and_go

// record::attention(): a byte in the page of record/taking.hpp.
#define ATTENTION _ZN9umadvisor6record6detail11taking_pageE + 4

// The load is an acquire: whoever sees a wrapper here has to see the driver's addresses that it goes on to.
number = 0
#define API(symbol, handling)                                                                                          \
    .globl symbol; .type symbol, %function; .p2align 4;                                                                \
    symbol: hint #34; adrp x16, umadvisor_export_table + 8 * number;                                                   \
    add x16, x16, :lo12:umadvisor_export_table + 8 * number; ldar x16, [x16]; br x16; .size symbol, .-symbol;          \
    .p2align 4;                                                                                                        \
    counted_##symbol: hint #34; adrp x9, ATTENTION; ldrb w9, [x9, :lo12:ATTENTION]; cbnz w9, looked_at_##symbol;          \
    adrp x9, umadvisor_counters; ldr x9, [x9, :lo12:umadvisor_counters];                   \
    add x9, x9, #((8 * number) & 0xfff); add x9, x9, #((8 * number) >> 12), lsl #12;                                   \
    1: ldxr x10, [x9]; add x10, x10, #1; stxr w11, x10, [x9]; cbnz w11, 1b;                                            \
    adrp x16, umadvisor_real_table + 8 * number;                                                                       \
    ldr x16, [x16, :lo12:umadvisor_real_table + 8 * number]; br x16;                                                   \
    looked_at_##symbol: mov x17, #number; b look_and_go;                                                       \
    unresolved_##symbol: mov x17, #number; b resolve_and_go;                                                           \
    number = number + 1;
#include "interposer/driver_api.def"

    .section .data.rel, "aw"
    .p2align 3
    .globl umadvisor_export_table
    .hidden umadvisor_export_table
umadvisor_export_table:
#define API(symbol, handling) .quad unresolved_##symbol;
#include "interposer/driver_api.def"

    .section .data.rel.ro, "aw"
    .p2align 3
    .globl umadvisor_counted_table
    .hidden umadvisor_counted_table
umadvisor_counted_table:
#define API(symbol, handling) .quad counted_##symbol;
#include "interposer/driver_api.def"

    .section .note.GNU-stack, "", %progbits
