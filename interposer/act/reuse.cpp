/// `--act reuse`.
#include "interposer/act/action.hpp"

namespace umadvisor::act {

constinit Action modes::reuse{
    .name = "reuse",
};

} // namespace umadvisor::act
