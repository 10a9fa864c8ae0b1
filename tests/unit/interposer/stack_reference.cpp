#include "stack_reference.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <stdexcept>

namespace umadvisor::record {
namespace {

/// The file that dlopen(3) finds under that name.
std::string file_of(const char* name) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        throw std::runtime_error(name);
    return map->l_name;
}

} // namespace

ReferenceWalk::ReferenceWalk(const std::string& directory) {
    std::filesystem::copy_file(file_of("libunwind.so.8"), directory + "/libunwind.so.8");
    if (load_unwinder(unwinder_, directory + "/") != nullptr || !unwinder_.steps)
        throw std::runtime_error("no libunwind");
}

const std::vector<std::uint64_t>& ReferenceWalk::from(std::uintptr_t return_address) {
    addresses_.clear();
    unw_context_t context;
    unw_cursor_t cursor;
    if (unwinder_.get_context(&context) != 0 || unwinder_.init_local(&cursor, &context) != 0)
        throw std::runtime_error("unw_init_local");
    bool below = true;
    while (unwinder_.step(&cursor) > 0) {
        unw_word_t ip = 0;
        if (unwinder_.get_register(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
            break;
        below = below && ip != return_address;
        if (!below)
            addresses_.push_back(ip);
    }
    return addresses_;
}

void ReferenceWalk::forget_code() {
    unwinder_.flush_cache(*unwinder_.local_space, 0, 0);
}

} // namespace umadvisor::record
