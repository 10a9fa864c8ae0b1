// The host writes a word in each second round: it is not a table to keep copies of.
#include "tests/gpu/programs/relief/table.hpp"

int main(int argc, char** argv) {
    return relief::read_in_turns(argc, argv, [](std::size_t round) { return round % 2 == 1; });
}
