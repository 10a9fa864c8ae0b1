// Behaves towards managed memory in exactly one way, which its arguments choose and which its one line of
// output names: what a verdict is held against.
//
//   managed_habits --habit NAME --case clear|near|borderline [--way NAME] --bytes N [--streams K] [--rounds R]
//   [--seed S] managed_habits --list
//
// Without --way the seed chooses one. Exit status 1: the data came out wrong; 2: refused.
#include "tests/gpu/programs/habits/table.hpp"

using namespace habits;

namespace {

struct Choice {
    std::string habit, kind, way;
    Request request;
};

unsigned long number(const char* option, const char* text, unsigned long least, unsigned long most) {
    char* end;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end || value < least || value > most) {
        std::fprintf(stderr, "%s takes a number from %lu to %lu\n", option, least, most);
        std::exit(example::status_refused);
    }
    return value;
}

Choice read_choice(int argc, char** argv) {
    Choice choice;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        const char* const value = argv[i + 1];
        const auto small = [&](unsigned long least, unsigned long most) {
            return static_cast<unsigned>(number(argv[i], value, least, most));
        };
        if (option == "--habit")
            choice.habit = value;
        else if (option == "--case")
            choice.kind = value;
        else if (option == "--way")
            choice.way = value;
        else if (option == "--bytes")
            choice.request.bytes = number(argv[i], value, page, most_bytes);
        else if (option == "--streams")
            choice.request.streams = small(1, 32);
        else if (option == "--rounds")
            choice.request.rounds = small(fewest_rounds, 1000);
        else if (option == "--seed")
            choice.request.seed = small(0, 0xffffffffu);
        else
            example::refuse("no such option: see the head of managed_habits.cu");
    }
    if (argc % 2 == 0)
        example::refuse("every option takes a value");
    if (choice.request.bytes % page)
        example::refuse("--bytes takes whole pages of 4096");
    return choice;
}

const Row& find_row(const Choice& choice) {
    std::vector<const Row*> found;
    for (const Row& row : table)
        if (choice.habit == row.habit && choice.kind == row.kind &&
            (choice.way.empty() || choice.way == row.way))
            found.push_back(&row);
    if (found.empty())
        example::refuse("no such habit, case or way: --list names them");
    return *found[choice.request.seed % found.size()];
}

void list() {
    for (const Row& row : table)
        std::printf(
            "{\"habit\": \"%s\", \"case\": \"%s\", \"way\": \"%s\", \"label\": \"%s\", \"also\": \"%s\"}\n",
            row.habit, row.kind, row.way, row.label, row.also);
}

void print(const Row& row, const Trial& trial) {
    std::printf("{\"habit\": \"%s\", \"case\": \"%s\", \"way\": \"%s\", \"bytes\": %zu, \"label\": \"%s\", "
                "\"also\": \"%s\", \"allocations\": [",
                row.habit, row.kind, row.way, trial.request.bytes, row.label, row.also);
    const char* comma = "";
    for (const Allocation& each : trial.allocations) {
        std::printf("%s{\"name\": \"%s\", \"bytes\": %zu, \"label\": \"%s\"}", comma, each.name.c_str(),
                    each.bytes, each.label.c_str());
        comma = ", ";
    }
    std::printf("], \"right\": %s}\n", trial.right ? "true" : "false");
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && !std::strcmp(argv[1], "--list")) {
        list();
        return 0;
    }
    const Choice choice = read_choice(argc, argv);
    const Row& row = find_row(choice);
    Trial trial{choice.request, row.label, {}, true};
    row.behave(trial);
    print(row, trial);
    return trial.right ? 0 : example::status_wrong;
}
