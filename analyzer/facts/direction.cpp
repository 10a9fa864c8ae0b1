#include "analyzer/facts/direction.hpp"

#include <array>

namespace umadvisor::facts {
namespace {

struct Names {
    std::string_view code, words;
};
constexpr std::array<Names, 11> direction_names{{{"unknown", "unknown direction"},
                                                 {"HtoD", "host to device"},
                                                 {"DtoH", "device to host"},
                                                 {"DtoD", "device to device"},
                                                 {"HtoH", "host to host"},
                                                 {"HtoA", "host to array"},
                                                 {"AtoH", "array to host"},
                                                 {"AtoD", "array to device"},
                                                 {"DtoA", "device to array"},
                                                 {"AtoA", "array to array"},
                                                 {"PtoP", "device to other device"}}};

char side(trace::Memory memory) {
    switch (memory) {
    case trace::Memory::pageable:
    case trace::Memory::pinned:
    case trace::Memory::registered:
        return 'H';
    case trace::Memory::device:
    case trace::Memory::managed:
        return 'D';
    case trace::Memory::array:
        return 'A';
    case trace::Memory::unknown:
        break;
    }
    return '?';
}

} // namespace

std::string_view name(Direction direction) {
    return direction_names[static_cast<std::size_t>(direction)].code;
}

std::string_view words(Direction direction) {
    return direction_names[static_cast<std::size_t>(direction)].words;
}

Direction direction_of(const trace::Copy& copy, std::string_view symbol) {
    const char ends[] = {side(copy.source_memory), 't', 'o', side(copy.destination_memory)};
    // cuMemcpy3DPeer may have an end on the host.
    if (symbol.find("Peer") != std::string_view::npos && ends[0] != 'H' && ends[3] != 'H')
        return Direction::PtoP;
    for (std::size_t i = 1; i < direction_names.size(); ++i)
        if (symbol.find(direction_names[i].code) != std::string_view::npos)
            return static_cast<Direction>(i);
    for (std::size_t i = 1; i < direction_names.size(); ++i)
        if (direction_names[i].code == std::string_view(ends, 4))
            return static_cast<Direction>(i);
    return Direction::unknown;
}

} // namespace umadvisor::facts
