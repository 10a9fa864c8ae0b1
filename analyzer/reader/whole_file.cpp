#include "analyzer/reader/whole_file.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/source.hpp"

#include <algorithm>

namespace umadvisor::reader {

std::string read_whole_file(const std::string& path, std::uint64_t most) {
    const Source source(path);
    // Files in /proc and the like report no size, and others grow: only the bytes that are read count.
    constexpr std::size_t step = std::size_t{1} << 16;
    std::string text;
    for (std::size_t before = 0, got = step; got == step; before += got) {
        if (before > most)
            throw Error(fmt::format("{}: is larger than {} MiB, too large for a file of this kind",
                                    source.path(), most >> 20));
        text.resize(before + step);
        got = source.read(before, text.data() + before, step);
        text.resize(before + got);
    }
    return text;
}

} // namespace umadvisor::reader
