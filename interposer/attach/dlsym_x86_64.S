// dlsym, as a tail jump. A hook that calls the real dlsym changes what RTLD_NEXT and RTLD_DEFAULT mean, since glibc
// finds the caller by its return address (dlsym(3)); programs then recurse until they crash. Sibling-call optimisation
// must not be trusted with that, so this is assembly.
//
// umadvisor_filter_dlsym(handle, name, caller) answers two words: an address to return at once, or zero and the handle
// to go on with.

    .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    endbr64
    push %rdi
    push %rsi
    mov 16(%rsp), %rdx
    sub $8, %rsp
    call umadvisor_filter_dlsym
    add $8, %rsp
    pop %rsi
    pop %rdi
    test %rax, %rax
    jnz 1f
    mov %rdx, %rdi
    jmp *umadvisor_real_dlsym(%rip)
1:  ret
    .size dlsym, .-dlsym

    .section .note.GNU-stack, "", @progbits
