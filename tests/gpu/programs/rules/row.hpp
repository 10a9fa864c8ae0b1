#pragma once
// One program of a rule's page. tools/rule-pages makes the table of all.
#include "trial.hpp"

namespace rules {

struct Row {
    const char* rule; ///< that a "fault" deserves and the others do not
    const char* kind; ///< fault, clean, near
    const char* way;
    const char* also;  ///< rules, by comma, that hold as well and are no mistake
    std::size_t bytes; ///< 0: a 32nd of the device's memory
    unsigned rounds;
    void (*behave)(Trial&);
    const char* machine; ///< that it takes, as SIMCUDA_CONFIG has it: rows of other keys than devices and
                         ///< host_nodes are for simcuda alone
};

} // namespace rules
