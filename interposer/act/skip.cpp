/// `--act skip`: uploads whose bytes the device has already are left out.
#include "interposer/act/action.hpp"

namespace umadvisor::act {

constinit Action modes::skip{.name = "skip"};

} // namespace umadvisor::act
