/// `--act pinned`.
#include "interposer/act/action.hpp"

namespace umadvisor::act {

constinit Action modes::pinned{
    .name = "pinned",
};

} // namespace umadvisor::act
