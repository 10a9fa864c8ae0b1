/// A plug-in in two editions, for stack_ways.cpp: their calls return to the same address, out of frames that
/// have to be left in different ways. Where one is taken for the other, rbp leads nowhere.
extern "C" __attribute__((visibility("default"))) void plugin_call(void (*function)(int), int depth);
#if STACK_PLUGIN == 1
#define ENTER                                                                                                  \
    "mov %rsp, %rbp\n"                                                                                         \
    ".cfi_def_cfa_register 6\n"                                                                                \
    "sub $0x100, %rsp\n"
#else
#define ENTER                                                                                                  \
    "xor %ebp, %ebp\n"                                                                                         \
    "nop\n"                                                                                                    \
    "sub $0x1a0, %rsp\n"                                                                                       \
    ".cfi_def_cfa_offset 0x1b0\n"
#endif
#if STACK_PLUGIN == 1
#define LEAVE "lea (%rbp), %rsp\n"
#else
#define LEAVE "add $0x1a0, %rsp\n"
#endif
asm(".text\n"
    ".globl plugin_call\n"
    ".type plugin_call, @function\n"
    ".balign 64\n"
    "plugin_call:\n"
    ".cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset 6, -16\n" ENTER "mov %rdi, %rax\n"
    "mov %esi, %edi\n"
    "call *%rax\n" LEAVE ".cfi_def_cfa 7, 16\n"
    "pop %rbp\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size plugin_call, . - plugin_call\n");
