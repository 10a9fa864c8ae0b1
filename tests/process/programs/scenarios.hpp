/// A program of several parts, of which its first argument names the one that runs.
#pragma once

#include <initializer_list>
#include <string_view>

struct Scenario {
    std::string_view name;
    void (*run)();
};

/// For main() to return.
inline int run_scenario(std::string_view name, std::initializer_list<Scenario> scenarios) {
    for (const Scenario& each : scenarios)
        if (each.name == name) {
            each.run();
            return 0;
        }
    return 2;
}
