#include "sample_library.hpp"

#include "analyzer/reader/dictionary.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <link.h>

namespace umadvisor::test {
namespace {

namespace fs = std::filesystem;

std::string build_id_of(const link_map* map) {
    std::string id;
    auto find = [](dl_phdr_info* info, std::size_t, void* out) {
        auto& [base, found] = *static_cast<std::pair<std::uint64_t, std::string*>*>(out);
        for (int i = 0; info->dlpi_addr == base && i < info->dlpi_phnum; ++i) {
            const char* at = reinterpret_cast<const char*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            ElfW(Nhdr) note;
            if (info->dlpi_phdr[i].p_type != PT_NOTE)
                continue;
            for (const char* const end = at + info->dlpi_phdr[i].p_memsz; at + sizeof note <= end;) {
                std::memcpy(&note, at, sizeof note);
                const char* const data = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
                if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4)
                    found->assign(data, note.n_descsz);
                at = data + (note.n_descsz + 3) / 4 * 4;
            }
        }
        return 0;
    };
    std::pair<std::uint64_t, std::string*> wanted{map->l_addr, &id};
    ::dl_iterate_phdr(find, &wanted);
    return id;
}

} // namespace

Sample::Sample(const std::string& name) : path(std::string(UMADVISOR_SAMPLES) + "/libsample_" + name + ".so") {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    BOOST_REQUIRE_MESSAGE(library != nullptr, ::dlerror());
    link_map* map = nullptr;
    BOOST_REQUIRE(::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
    build_id = build_id_of(map);
    BOOST_REQUIRE(build_id.size() == 20u);
    using Outer = void*();
    address = reinterpret_cast<std::uint64_t>(reinterpret_cast<Outer*>(::dlsym(library, "sample_outer"))()) -
              map->l_addr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_FINI)
            last = entry->d_un.d_ptr + 1;
    inlined_line = *static_cast<const int*>(::dlsym(library, "sample_inlined_line"));
    outer_line = *static_cast<const int*>(::dlsym(library, "sample_outer_line"));
}

std::string Sample::debug_name() const {
    std::string hex;
    for (const unsigned char byte : build_id) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        hex += digits;
    }
    return ".build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

SampleFolder::SampleFolder() {
    std::string pattern = (fs::temp_directory_path() / "umadvisor-sample-XXXXXX").string();
    path = fs::canonical(::mkdtemp(pattern.data())).string();
}

SampleFolder::~SampleFolder() {
    fs::remove_all(path);
}

std::string SampleFolder::operator/(const std::string& name) const {
    const fs::path full = fs::path(path) / name;
    fs::create_directories(full.parent_path());
    return full.string();
}

void objcopy(const std::string& arguments) {
    BOOST_REQUIRE(std::system((UMADVISOR_OBJCOPY " " + arguments).c_str()) == 0);
}

std::vector<std::uint8_t> bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string LookedUp::text() const {
    std::string text;
    for (const symbols::CodePlace& place : places)
        text += (text.empty() ? "" : " ") + place.function.string() + ":" + std::to_string(place.line);
    return text;
}

LookedUp look_up(const Sample& sample, const std::string& path, const symbols::Options& options) {
    constexpr std::uint64_t bias = 0x7f00'0000'0000;
    reader::Dictionary dictionary;
    trace::Module module{.id = 1, .bias = bias, .path = path, .build_id = sample.build_id};
    dictionary.modules[1] = module;
    trace::Frame frame{.id = 1, .address = bias + sample.address, .module = 1};
    dictionary.frames[1] = frame;
    symbols::Symbolizer symbolizer(dictionary, options);
    return {symbolizer.places(ids::StackId(1)), symbolizer.warnings()};
}

std::string whole_text(const Sample& sample) {
    return "sample::inlined:" + std::to_string(sample.inlined_line) +
           " sample::outer:" + std::to_string(sample.outer_line);
}

} // namespace umadvisor::test
