/// A plug-in that calls back, to be unloaded and loaded again by record_stack_test.cpp.
extern "C" __attribute__((visibility("default"), noinline)) unsigned long
plugin_call(unsigned long (*function)()) {
    const unsigned long result = function();
    asm volatile("" ::: "memory");
    return result;
}
