/// Calls the program back while it is being loaded.
extern "C" void in_constructor();

[[gnu::constructor]] static void begin() {
    in_constructor();
}
