// Has one fault that a rule speaks of, or not: what the rules of `umadvisor report` and their estimates are
// held against. Its rows are the programs in the pages of the rules, docs/rules/. On simcuda they are an eighth
// of their size.
//
//   rule_cases --rule UMA-nnn --case fault|clean|near [--way NAME] [--repeat N]
//   rule_cases --list
//   rule_cases --machine
//
// --machine: how much of what rows take this machine has.
// --repeat: the row again and again; its times are printed by line: "us" of the part that the fault is in,
// "run_us" of all that the row does. Exit status 1: the data came out wrong; 2: refused.
#include "rule_programs.hpp" // by tools/rule-pages

using namespace rules;

namespace {

struct Choice {
    std::string rule, kind, way;
    unsigned long repeat = 1;
};

Choice read_choice(int argc, char** argv) {
    Choice choice;
    if (argc % 2 == 0)
        example::refuse("every option takes a value: see the head of rule_cases.cu");
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--rule")
            choice.rule = argv[i + 1];
        else if (option == "--case")
            choice.kind = argv[i + 1];
        else if (option == "--way")
            choice.way = argv[i + 1];
        else if (option == "--repeat")
            choice.repeat = std::strtoul(argv[i + 1], nullptr, 10);
        else
            example::refuse("no such option: see the head of rule_cases.cu");
    }
    return choice;
}

const Row& find_row(const Choice& choice) {
    for (const Row& row : table)
        if (choice.rule == row.rule && choice.kind == row.kind && (choice.way.empty() || choice.way == row.way))
            return row;
    example::refuse("no such rule, case or way: --list names them");
}

void list() {
    for (const Row& row : table)
        std::printf(
            "{\"rule\": \"%s\", \"case\": \"%s\", \"way\": \"%s\", \"also\": \"%s\", \"machine\": \"%s\"}\n",
            row.rule, row.kind, row.way, row.also, row.machine);
}

void tell_machine() {
    std::printf("{\"devices\": %d, \"host_nodes\": %zu}\n", count_devices(), count_nodes());
}

/// The first launch of a program loads its module, whatever it does after that.
void warm_up() {
    DeviceWords words(KiB);
    LAUNCH(fill, 1, block, nullptr, words.words, words.count, 0u);
    CHECK(cudaDeviceSynchronize());
}

std::size_t device_bytes() {
    std::size_t available = 0, total = 0;
    CHECK(cudaMemGetInfo(&available, &total));
    return total;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && !std::strcmp(argv[1], "--list")) {
        list();
        return 0;
    }
    if (argc == 2 && !std::strcmp(argv[1], "--machine")) {
        tell_machine();
        return 0;
    }
    const Choice choice = read_choice(argc, argv);
    const Row& row = find_row(choice);
#ifdef __CUDACC__
    constexpr std::size_t scale = 1;
#else
    constexpr std::size_t scale = 8;
#endif
    warm_up();
    bool right = true;
    for (unsigned long run = 0; run < choice.repeat; ++run) {
        Trial trial;
        trial.bytes =
            row.bytes == 0 ? device_bytes() / 32 : std::max(row.bytes / scale, std::min(row.bytes, 4 * KiB));
        trial.rounds = row.rounds;
        const habits::Nanoseconds begin = habits::now();
        row.behave(trial);
        const double run_us = static_cast<double>(habits::now() - begin) / 1e3;
        right = right && trial.right;
        std::printf("{\"rule\": \"%s\", \"case\": \"%s\", \"way\": \"%s\", \"us\": %.3f, \"run_us\": %.3f, "
                    "\"right\": %s}\n",
                    row.rule, row.kind, row.way, trial.microseconds, run_us, trial.right ? "true" : "false");
    }
    return right ? 0 : example::status_wrong;
}
