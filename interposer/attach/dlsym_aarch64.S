// dlsym, as a tail jump, for aarch64. See dlsym_x86_64.S.

    .text
    .globl dlsym
    .type dlsym, %function
    .p2align 4
dlsym:
    hint #34
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    mov x2, x30
    bl umadvisor_filter_dlsym
    mov x9, x0
    mov x10, x1
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    cbnz x9, 1f
    mov x0, x10
    adrp x16, umadvisor_real_dlsym
    ldr x16, [x16, :lo12:umadvisor_real_dlsym]
    br x16
1:  mov x0, x9
    ret
    .size dlsym, .-dlsym

    .section .note.GNU-stack, "", %progbits
