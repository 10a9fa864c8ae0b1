#include "analyzer/live/socket_place.hpp"

#include <algorithm>
#include <cstdlib>

namespace umadvisor::live {
namespace {

std::string absolute(std::string path) {
    return path.starts_with('/') ? path : std::string();
}

std::string own_variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : absolute(value);
}

} // namespace

std::string shared_folder() {
    return own_variable("UMADVISOR_CONTROL");
}

std::vector<SocketPlace> places_of(const Process& process) {
    std::vector<SocketPlace> places;
    const auto add = [&places](const std::string& folder, bool is_private) {
        const SocketPlace place{folder, is_private};
        if (!folder.empty() && std::ranges::find(places, place) == places.end())
            places.push_back(place);
    };
    const auto add_session = [&add](const std::string& folder) {
        if (!folder.empty())
            add(folder + "/umadvisor", true);
    };
    add(shared_folder(), false);
    if (process.pid == 0)
        return places;
    add_session(own_variable("XDG_RUNTIME_DIR"));
    const auto there = [&process](std::string_view variable) {
        const std::string folder = absolute(process.variable(variable));
        return folder.empty() ? folder : process.reach(folder);
    };
    add(there("UMADVISOR_CONTROL"), false);
    add_session(there("XDG_RUNTIME_DIR"));
    places.push_back({});
    return places;
}

} // namespace umadvisor::live
