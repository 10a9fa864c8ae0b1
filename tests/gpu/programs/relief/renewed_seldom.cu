// The host writes a word in each tenth round: copies on both sides pay all the same.
#include "tests/gpu/programs/relief/table.hpp"

int main(int argc, char** argv) {
    return relief::read_in_turns(argc, argv, [](std::size_t round) { return round % 10 == 9; });
}
