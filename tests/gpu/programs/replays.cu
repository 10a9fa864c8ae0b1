// Does one thing in a way that a change would mend, or as it is with the change: what the analyzer's replay
// says of the change is held against. On simcuda memory is an eighth of its size.
//
//   replays --list
//   replays --program NAME --case before|after [--repeat N]
//
// --repeat: again and again in one process; the time of each is printed as a line of JSON. Exit status 1: the
// data came out wrong; 2: refused.
#include "tests/gpu/programs/replays/table.hpp"

using namespace replays;

namespace {

void list() {
    for (const Program& each : programs)
        std::printf("{\"program\": \"%s\", \"rules\": \"%s\", \"in_range\": %s}\n", each.name, each.rules,
                    each.in_range ? "true" : "false");
}

const Program& find_program(const char* name) {
    for (const Program& each : programs)
        if (!std::strcmp(each.name, name))
            return each;
    example::refuse("no such program: --list names them");
}

/// The first launch of a program loads its module, whatever it does after that.
void warm_up() {
    const Target target;
    spin_for(1, target.words);
    LAUNCH(rules::add_one, 1, 1, nullptr, target.words, target.count);
    CHECK(cudaDeviceSynchronize());
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && !std::strcmp(argv[1], "--list")) {
        list();
        return 0;
    }
    const char *name = "", *kind = "";
    unsigned long repeat = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--program"))
            name = argv[i + 1];
        else if (!std::strcmp(argv[i], "--case"))
            kind = argv[i + 1];
        else if (!std::strcmp(argv[i], "--repeat"))
            repeat = std::strtoul(argv[i + 1], nullptr, 10);
        else
            example::refuse("no such option: see the head of replays.cu");
    }
    const Program& program = find_program(name);
    const bool mended = !std::strcmp(kind, "after");
    if (!mended && std::strcmp(kind, "before") != 0)
        example::refuse("--case before or --case after");
#ifdef __CUDACC__
    constexpr std::size_t scale = 1;
#else
    constexpr std::size_t scale = 8;
#endif
    if (program.in_range)
        CHECK(cudaProfilerStart());
    warm_up();
    bool right = true;
    for (unsigned long run = 0; run < repeat; ++run) {
        Trial trial;
        trial.bytes = program.bytes / scale;
        trial.rounds = program.rounds;
        (mended ? program.after : program.before)(trial);
        right = right && trial.right;
        std::printf("{\"program\": \"%s\", \"case\": \"%s\", \"us\": %.3f}\n", name, kind, trial.microseconds);
    }
    return right ? 0 : example::status_wrong;
}
