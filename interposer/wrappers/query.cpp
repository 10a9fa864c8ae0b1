#include "interposer/wrappers/query.hpp"

namespace umadvisor::wrappers {

void finish_query(trace::Query& record) noexcept {
    if (!record::takes(record::Taking::everything))
        return;
    const KeepErrno keep;
    record.stack = record::stack();
    record::write(record);
}

} // namespace umadvisor::wrappers
