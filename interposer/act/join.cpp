/// `--act join`.
#include "interposer/act/action.hpp"

namespace umadvisor::act {

constinit Action modes::join{
    .name = "join",
};

} // namespace umadvisor::act
