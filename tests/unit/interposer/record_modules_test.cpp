#include "record_both.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

BOOST_AUTO_TEST_SUITE(record_modules)

using namespace umadvisor;
using namespace umadvisor::record;

BOOST_AUTO_TEST_CASE(an_object_that_comes_again_is_another_one) {
    const TraceImage image = recorded(with_stacks, [&] {
        for (int round = 0; round < 3; ++round) {
            void* plugin = dlopen(RECORD_PLUGIN, RTLD_NOW | RTLD_LOCAL);
            if (plugin == nullptr)
                return false;
            using Call = unsigned long (*)(unsigned long (*)());
            const Call call = reinterpret_cast<Call>(dlsym(plugin, "plugin_call"));
            for (int i = 0; i < 10; ++i)
                call(record_both);
            dlclose(plugin);
            record_both(); // sees that it is gone
        }
        return true;
    });
    std::map<std::uint64_t, trace::Module> plugins;
    for (const trace::Module& module : image.all<trace::Module>())
        if (module.path == RECORD_PLUGIN)
            plugins[module.id] = module;
    BOOST_TEST(plugins.size() == 3u);
    std::map<std::uint64_t, int> frames;
    for (const trace::Frame& frame : image.all<trace::Frame>())
        if (plugins.contains(frame.module))
            ++frames[frame.module];
    BOOST_TEST(frames.size() == 3u);
    check_both(image, 3 * 11);
}

BOOST_AUTO_TEST_CASE(build_ids_are_those_that_readelf_shows) {
    const TraceImage image = recorded(with_stacks, [] {});
    int checked = 0;
    for (const trace::Module& module : image.all<trace::Module>()) {
        const std::string file(module.path);
        if (file.find('/') == file.npos)
            continue; // linux-vdso.so.1 has no file
        std::string shown;
        FILE* readelf = popen(("readelf -n '" + file + "' | sed -n 's/.*Build ID: //p'").c_str(), "r");
        BOOST_REQUIRE(readelf != nullptr);
        char line[256] = {};
        if (std::fgets(line, sizeof line, readelf) != nullptr)
            shown = std::string(line, std::strcspn(line, "\n"));
        pclose(readelf);
        std::string told;
        for (const char byte : module.build_id) {
            char digits[3];
            std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
            told += digits;
        }
        BOOST_TEST(told == shown, file);
        checked += !shown.empty();
    }
    BOOST_TEST(checked >= 3); // at least libc, libstdc++ and libunwind
}

BOOST_AUTO_TEST_SUITE_END()
