#include "stack_frames.hpp"

asm(R"(
    .text
    .globl call_with_data_in_rbp
    .type call_with_data_in_rbp, @function
call_with_data_in_rbp:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rdx, %rbp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size call_with_data_in_rbp, . - call_with_data_in_rbp

    # As Intel's compiler and the dynamic linker's trampolines do: a frame of variable size, left by rbx.
    .globl call_based_on_rbx
    .type call_based_on_rbx, @function
call_based_on_rbx:
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset 3, -16
    mov %rsp, %rbx
    .cfi_def_cfa_register 3
    and %rsp, %rdx
    sub %rdx, %rsp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    mov %rbx, %rsp
    .cfi_def_cfa_register 7
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size call_based_on_rbx, . - call_based_on_rbx

    # A fiber of its own making, whose stack leads on to the one it was entered from.
    .globl call_on_stack
    .type call_on_stack, @function
call_on_stack:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register 6
    mov %rdx, %rsp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .size call_on_stack, . - call_on_stack

    .globl call_without_unwind_info
    .type call_without_unwind_info, @function
call_without_unwind_info:
    push %rbp
    mov %rsp, %rbp
    mov %rdi, %rax
    mov %esi, %edi
    call *%rax
    pop %rbp
    ret
    .size call_without_unwind_info, . - call_without_unwind_info
)");
