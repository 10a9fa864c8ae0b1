// The exported side of every entry point, and the pass-through of those that are only counted. Tail jumps: no signature
// is needed, every argument and the stack stay as the caller left them. r11 is scratch in the calling convention
// (System V AMD64 ABI, 3.2.3).

    .text

// All argument registers live on across a call of `function`. 136 and the seven words keep the stack as the ABI wants it
// where one word is on it beside the return address.
    .macro keep_arguments_and_call function
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $136, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov 192(%rsp), %rdi
    call \function
    mov %rax, %r10
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $136, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    pop %r11
    .endm

// A call that arrives before the driver was found, through a symbol bound at link time. The entry's number is on the
// stack; the look-up answers the table to go on through.
    .type resolve_and_go, @function
resolve_and_go:
    keep_arguments_and_call umadvisor_find_driver
    jmp *(%r10,%r11,8)
    .size resolve_and_go, .-resolve_and_go

// A call that is only counted, while every call is looked at (act/attention.hpp).
    .type look_and_go, @function
look_and_go:
    keep_arguments_and_call umadvisor_before_counted_call
    mov umadvisor_counters(%rip), %r10
    lock incq (%r10,%r11,8)
    lea umadvisor_real_table(%rip), %r10
    jmp *(%r10,%r11,8)
    .size look_and_go, .-look_and_go

// record::attention(): a byte in the page of record/taking.hpp.
#define ATTENTION _ZN9umadvisor6record6detail11taking_pageE + 4

number = 0
#define API(symbol, handling)                                                                                          \
    .globl symbol; .type symbol, @function; .p2align 4;                                                                \
    symbol: endbr64; jmp *(umadvisor_export_table + 8 * number)(%rip); .size symbol, .-symbol;                         \
    .p2align 4;                                                                                                        \
    counted_##symbol: endbr64; cmpb $0, ATTENTION(%rip); jne looked_at_##symbol;                                         \
    mov umadvisor_counters(%rip), %r11; lock incq (8 * number)(%r11);                                                  \
    jmp *(umadvisor_real_table + 8 * number)(%rip);                                                                    \
    looked_at_##symbol: push $number; jmp look_and_go;                                                         \
    unresolved_##symbol: push $number; jmp resolve_and_go;                                                             \
    number = number + 1;
#include "interposer/driver_api.def"

// Where exported symbols lead: at first to the look-up, later to the wrapper or the counting pass-through.
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

    .section .note.GNU-stack, "", @progbits
