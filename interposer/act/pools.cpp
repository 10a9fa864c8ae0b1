/// `--act pools`.
#include "interposer/act/action.hpp"

namespace umadvisor::act {

constinit Action modes::pools{
    .name = "pools",
};

} // namespace umadvisor::act
