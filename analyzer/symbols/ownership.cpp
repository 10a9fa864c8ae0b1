#include "analyzer/symbols/ownership.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <iterator>
#include <string_view>

namespace umadvisor::symbols {
namespace {

constexpr int runtime_depth = 4; ///< frames of a static runtime between its entry point and the driver

enum class Part : std::uint8_t { module, function, file };

struct Known {
    Owner owner;
    Part part;
    const char* glob;
};
constexpr Known known_code[] = {
#define KNOWN_CODE(owner, part, glob) {Owner::owner, Part::part, glob},
#include "analyzer/symbols/known_code.def"
#undef KNOWN_CODE
};

bool matches(const char* glob, const std::string& text) {
    return ::fnmatch(glob, text.c_str(), 0) == 0;
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool matches_any(const std::vector<std::string>& globs, const CodePlace& place) {
    return std::ranges::any_of(globs, [&](const std::string& glob) {
        return (!place.module.empty() && (matches(glob.c_str(), place.module) ||
                                          matches(glob.c_str(), std::string(place.module.name())))) ||
               (!place.function.empty() && matches(glob.c_str(), place.function)) ||
               (!place.file.empty() &&
                (matches(glob.c_str(), place.file) || matches(glob.c_str(), std::string(place.file.name()))));
    });
}

Owner look_up(Part part, const std::string& text) {
    // A module is known by its file name, unless the glob names folders.
    const std::string name = part == Part::module ? file_name(text) : text;
    const auto* const found = std::ranges::find_if(known_code, [&](const Known& known) {
        return known.part == part &&
               matches(known.glob,
                       std::string_view(known.glob).find('/') == std::string_view::npos ? name : text);
    });
    return found == std::end(known_code) ? Owner::program : found->owner;
}

Owner remembered(std::unordered_map<std::string, Owner>& answers, Part part, const std::string& text) {
    if (text.empty())
        return Owner::program;
    const auto [entry, fresh] = answers.try_emplace(text);
    if (fresh)
        entry->second = look_up(part, text);
    return entry->second;
}

/// `path` is of a source file or a loaded object. Python installs packages into folders called site-packages or
/// dist-packages (docs.python.org, "site"; Debian Python policy).
bool is_installed(const std::string& path) {
    return path.find("-packages/") != std::string::npos;
}

/// pip and Debian write console scripts without a suffix (packaging.python.org, "Entry points specification").
bool is_console_script(const CodePlace& place) {
    return place.language == Language::python && place.function == "<module>" &&
           matches("*/bin/*", place.file) && !place.file.view().ends_with(".py");
}

} // namespace

Ownership::Ownership(std::vector<std::string> hide, std::vector<std::string> show)
    : hide_(std::move(hide)), show_(std::move(show)) {}

Owner Ownership::of(const CodePlace& place) const {
    if (matches_any(show_, place))
        return Owner::program;
    if (matches_any(hide_, place))
        return Owner::framework;
    if (place.language == Language::native) {
        if (const Owner owner = remembered(functions_, Part::function, place.function); owner != Owner::program)
            return owner;
        if (const Owner owner = remembered(modules_, Part::module, place.module); owner != Owner::program)
            return owner;
    }
    if (const Owner owner = remembered(files_, Part::file, place.file); owner != Owner::program)
        return owner;
    if (is_installed(place.file) || is_installed(place.module))
        return Owner::package;
    return is_console_script(place) ? Owner::script : Owner::program;
}

Owner Ownership::of_module(const std::string& module) const {
    return show_.empty() ? remembered(modules_, Part::module, module) : Owner::program;
}

bool LineChoice::offer(const Offer& frame) {
    const std::size_t number = offered_++;
    if (frame.owner == Owner::entry) {
        own_ = package_ = script_ = framework_ = none;
    } else if (own_ == none && frame.owner == Owner::program && !frame.unknown) {
        own_ = number;
        frames_after_ = 0;
        return true;
    } else if (package_ == none && frame.owner == Owner::package && !frame.unknown) {
        package_ = number;
    } else if (script_ == none && frame.owner == Owner::script) {
        script_ = number;
    } else if (framework_ == none && frame.owner == Owner::framework) {
        framework_ = number;
    }
    frames_after_ += !frame.inlined;
    return own_ == none || frames_after_ < runtime_depth;
}

std::size_t LineChoice::index() const {
    for (const std::size_t number : {own_, package_, script_, framework_})
        if (number != none)
            return number;
    return 0;
}

CodePlace choose_line(std::span<const CodePlace> frames, const Ownership& ownership) {
    LineChoice choice;
    for (const CodePlace& frame : frames)
        if (!choice.offer({ownership.of(frame), frame.inlined, frame.unknown()}))
            break;
    return frames.empty() ? CodePlace{} : frames[choice.index()];
}

} // namespace umadvisor::symbols
