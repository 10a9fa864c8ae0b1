/// Calls back, so that it stands on the stacks of what is called.
extern "C" [[gnu::visibility("default"), gnu::noinline]] void soak_plugin_call(void (*call)(void*),
                                                                               void* what) {
    call(what);
    asm volatile("" ::: "memory"); // no tail call
}

/// Puts two builds of this file at different offsets.
[[gnu::used]] static const char padding[SOAK_PLUGIN * 65536] = {1};
