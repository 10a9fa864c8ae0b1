#include "analyzer/symbols/symbolizer.hpp"

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/symbols/demangle.hpp"
#include "analyzer/symbols/module_file.hpp"
#include "analyzer/symbols/module_symbols.hpp"
#include "analyzer/symbols/symbol_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <span>
#include <utility>

namespace umadvisor::symbols {
namespace {

CodePlace python_place(const PythonPlace& python) {
    CodePlace place;
    place.function = python.function;
    place.file = python.file;
    place.line = python.line;
    place.language = Language::python;
    return place;
}

/// The text itself where all of it is plain.
SharedText plain_text(SharedText text) {
    std::string plain = reader::plain(text.string(), trace::Plain::name);
    return text == plain ? std::move(text) : SharedText(std::move(plain));
}

SharedText module_text(std::string_view path) {
    return path.substr(0, longest_path);
}

/// In a stack: a hostile trace has 128 inlined functions in each of 256 frames.
constexpr std::size_t most_places = 1024;

} // namespace

/// An object file as far as it was needed: what the cache knows costs no look into it.
class Symbolizer::Module {
public:
    Module(std::string path, std::string_view build_id, const Options& options)
        : path_(std::move(path)), build_id_(build_id), cache_(path_, build_id, options) {}
    ~Module() { cache_.save(); }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// Without their module.
    std::vector<CodePlace> places(std::uint64_t address, Symbolizer& owner) {
        if (const std::vector<CodePlace>* known = cache_.find(address))
            return *known;
        if (!file_)
            file_ = std::make_unique<ModuleSymbols>(path_, build_id_, owner.options_);
        if (!file_->trouble().empty()) {
            // The build-id identifies the code that ran: what was looked up before stays true if its path now
            // has another file, or none.
            if (const std::vector<CodePlace>* known = cache_.find_in_any_state(address, owner.cache_folder_))
                return *known;
            if (!std::exchange(warned_, true)) {
                if (file_->is_missing())
                    owner.missing_.push_back(path_.substr(path_.rfind('/') + 1));
                else
                    owner.warnings_.push_back(file_->trouble());
            }
        }
        if (owner.options_.progress)
            owner.options_.progress(path_, ++owner.looked_up_);
        std::vector<CodePlace> places = file_->places(address);
        if (file_->trouble().empty())
            cache_.add(address, places);
        else
            missed_.insert(address);
        return places;
    }
    /// Whether this address was asked for in vain.
    bool missed(std::uint64_t address) const { return missed_.contains(address); }

private:
    std::string path_, build_id_;
    SymbolCache cache_;
    std::unique_ptr<ModuleSymbols> file_;
    bool warned_ = false;
    std::set<std::uint64_t> missed_;
};

Symbolizer::Symbolizer(const reader::Dictionary& dictionary, Options options, PackedSymbols packed)
    : dictionary_(dictionary),
      options_(std::move(options)),
      packed_(std::move(packed)),
      cache_folder_(options_.cache),
      ownership_(options_.hide, options_.show),
      sources_(options_),
      python_lines_(dictionary) {
    for (auto& [module, addresses] : packed_.modules)
        for (const SharedText path = module_text(module.first); auto& [address, places] : addresses)
            for (CodePlace& place : places)
                place.module = path;
    if (packed_.damaged)
        warnings_.emplace_back(
            "the symbols packed into the trace are damaged; missing ones are looked up again");
    // libdw asks the servers that this variable names; without --debuginfod, nothing goes over the network.
    if (!options_.debuginfod)
        ::unsetenv("DEBUGINFOD_URLS");
}

Symbolizer::~Symbolizer() = default;

Symbolizer::Module* Symbolizer::module_of(std::uint64_t id) {
    const auto [number, fresh] = numbered_.try_emplace(id);
    return fresh ? number->second = find_module(id) : number->second;
}

Symbolizer::Module* Symbolizer::find_module(std::uint64_t id) {
    const auto found = dictionary_.modules.find(id);
    if (found == dictionary_.modules.end() || !found->second.path.starts_with('/'))
        return nullptr; // [vdso] and the like, or a program that was started by a relative path and is not
                        // findable
    const std::string path(found->second.path), file = file_path(path, options_);
    std::error_code failed;
    if (std::filesystem::exists(file, failed) && !is_plain_file(file))
        return nullptr; // /dev/zero and the like, mapped as memory; opening a FIFO would block
    auto& module = modules_[path + '\0' + std::string(found->second.build_id)];
    if (!module)
        module = std::make_unique<Module>(path, found->second.build_id, options_);
    return module.get();
}

const std::vector<CodePlace>& Symbolizer::frame_places(std::uint64_t id) {
    const auto [entry, fresh] = frames_.try_emplace(id);
    if (fresh)
        entry->second = look_up(dictionary_.frames.at(id));
    return *entry->second;
}

const std::vector<CodePlace>* Symbolizer::look_up(const trace::Frame& frame) {
    const auto found = dictionary_.modules.find(frame.module);
    // The recorded address is the one to return to: the call ends one byte before it.
    const std::uint64_t address = frame.address - 1;
    if (found != dictionary_.modules.end())
        if (const std::vector<CodePlace>* packed =
                packed_.find(found->second.path, found->second.build_id, address - found->second.bias))
            return packed;
    const auto [known, fresh] = places_.try_emplace({frame.module, frame.address});
    std::vector<CodePlace>& places = known->second;
    if (!fresh)
        return &places;
    if (found == dictionary_.modules.end()) {
        places.emplace_back().offset = frame.address;
        return &places;
    }
    if (Module* module = module_of(frame.module))
        places = module->places(address - found->second.bias, *this);
    else
        places.emplace_back().offset = address - found->second.bias;
    for (CodePlace& place : places) { // debug information is untrusted text, too
        place.function = plain_text(std::move(place.function));
        place.file = plain_text(std::move(place.file));
        place.module = module_path(frame);
    }
    return &places;
}

PackedSymbols Symbolizer::pack() {
    PackedSymbols all = packed_;
    for (const auto& [id, frame] : dictionary_.frames) {
        const auto module = dictionary_.modules.find(frame.module);
        if (frame.python != 0 || module == dictionary_.modules.end())
            continue;
        const std::uint64_t address = frame.address - 1 - module->second.bias;
        const std::vector<CodePlace>& places = frame_places(id);
        const Module* const file = module_of(frame.module);
        if (file == nullptr || !file->missed(address))
            all.modules[{std::string(module->second.path), std::string(module->second.build_id)}].try_emplace(
                address, places);
    }
    return all;
}

std::vector<CodePlace> Symbolizer::places(ids::StackId stack) {
    std::vector<CodePlace> places;
    walk(stack, [&](std::uint64_t native, const PythonPlace* python) {
        if (python != nullptr)
            places.push_back(python_place(*python));
        else
            places.insert(places.end(), frame_places(native).begin(), frame_places(native).end());
        return places.size() < most_places;
    });
    return places;
}

void Symbolizer::walk(ids::StackId stack, const VisitFrame& visit) {
    const auto kind = [this](std::uint64_t native) {
        // The function itself, not what was inlined into it.
        const CodePlace& place = frame_places(native).back();
        if (place.function.view().starts_with("_PyEval_EvalFrame"))
            return InterpreterFrame::evaluation;
        return owner(place) == Owner::interpreter ? InterpreterFrame::c_code : InterpreterFrame::other;
    };
    for_each_frame(dictionary_, python_lines_, stack.plain(), kind, visit);
}

bool Symbolizer::is_launch_stub(const CodePlace& place) {
    // nvcc gives the host function that <<<>>> calls the name of the kernel, and the kernel's line.
    if (!kernels_known_) {
        for (const auto& [id, function] : dictionary_.functions)
            if (!function.symbol.empty())
                kernels_.insert(short_name(function.symbol));
        kernels_known_ = true;
    }
    return !place.function.empty() && kernels_.contains(place.function.string());
}

Owner Symbolizer::owner(const CodePlace& place) {
    const Owner owner = ownership_.of(place);
    return owner == Owner::program && is_launch_stub(place) ? Owner::entry : owner;
}

const SharedText& Symbolizer::module_path(const trace::Frame& frame) {
    const auto [entry, fresh] = module_paths_.try_emplace(frame.module);
    if (fresh)
        if (const auto found = dictionary_.modules.find(frame.module); found != dictionary_.modules.end())
            entry->second = module_text(found->second.path);
    return entry->second;
}

CodePlace Symbolizer::line(ids::StackId stack) {
    return chosen_line(stack).place;
}

std::optional<PythonFramework> Symbolizer::python_framework(ids::StackId stack) {
    const ChosenLine& line = chosen_line(stack);
    if (line.place.language == Language::python)
        return line.framework;
    // Threads of a framework (PyTorch's for backward passes, XLA's) run no Python, but Python started their
    // work.
    const bool own_thread = line.framework != PythonFramework::none && owner(line.place) == Owner::framework &&
                            !dictionary_.interpreters.empty();
    return own_thread ? std::optional(line.framework) : std::nullopt;
}

const Symbolizer::ChosenLine& Symbolizer::chosen_line(ids::StackId stack) {
    stack = stack.plain();
    const auto [entry, fresh] = lines_.try_emplace(stack);
    if (!fresh)
        return entry->second;
    // Frame by frame: frames outside the line that is shown are not looked up, except a few in which a runtime
    // that is linked into the program may have called itself. Nor are those of known libraries.
    LineChoice choice;
    struct Offered {
        std::uint64_t native; ///< Frame record, and which of its places; 0: `python`
        std::size_t place;
        CodePlace python;
    };
    std::vector<Offered> offered;
    walk(stack, [&](std::uint64_t native, const PythonPlace* python) {
        if (python != nullptr) {
            offered.push_back({0, 0, python_place(*python)});
            const CodePlace& place = offered.back().python;
            return choice.offer({owner(place), false, place.unknown()});
        }
        const SharedText& module = module_path(dictionary_.frames.at(native));
        if (const Owner known = ownership_.of_module(module); known != Owner::program) {
            offered.push_back({native, 0, {}});
            return choice.offer({known});
        }
        bool more = true;
        const std::vector<CodePlace>& places = frame_places(native);
        for (std::size_t i = 0; i < places.size() && more; ++i) {
            offered.push_back({native, i, {}});
            more = choice.offer({owner(places[i]), places[i].inlined, places[i].unknown()});
        }
        return more && offered.size() < most_places;
    });
    if (!offered.empty()) {
        const Offered& chosen = offered[choice.index()];
        entry->second.place = chosen.native == 0 ? chosen.python : frame_places(chosen.native)[chosen.place];
        for (std::size_t i = 0; i <= choice.index(); ++i) {
            const PythonFramework framework =
                framework_of(offered[i].native == 0 ? offered[i].python.file
                                                    : module_path(dictionary_.frames.at(offered[i].native)));
            if (framework != PythonFramework::none)
                entry->second.framework = framework;
        }
    }
    return entry->second;
}

ids::StackId Symbolizer::line_stack(ids::StackId stack) {
    stack = stack.plain();
    const CodePlace& place = chosen_line(stack).place;
    // Without lines two calls in one function are two places.
    const std::uint64_t number = place.file.empty() ? place.offset : static_cast<std::uint64_t>(place.line);
    return line_stacks_.try_emplace({place.module, place.file, number}, stack).first->second;
}

std::string Symbolizer::source_text(const CodePlace& place) {
    const std::string* const packed = packed_.source_line(place.file, place.line);
    return packed != nullptr ? symbols::quoted(*packed) : sources_.line(place.file, place.line);
}

SourceCall Symbolizer::source_call(const CodePlace& place) {
    if (!options_.source.named || place.language != Language::native || place.line <= 0 ||
        owner(place) != Owner::program)
        return {};
    const std::string* const packed = packed_.source_line(place.file, place.line);
    return packed != nullptr ? call_at(*packed, 1) : call_at(sources_.text(place.file), place.line);
}

bool Symbolizer::holds_at(std::string_view expression, const CodePlace& from, const CodePlace& at) {
    if (from.file != at.file || from.function != at.function)
        return false;
    return from.line == at.line || symbols::holds_at(sources_.text(at.file), expression, from.line, at.line);
}

std::vector<std::string> Symbolizer::warnings() const {
    std::vector<std::string> all = warnings_;
    constexpr std::size_t most = 4; // of their names
    if (!missing_.empty())
        all.push_back(
            fmt::format("no line numbers for {}{}: {} not on this machine (umadvisor pack, run where {}, keeps "
                        "the lines in the trace)",
                        fmt::join(std::span(missing_).first(std::min(missing_.size(), most)), ", "),
                        missing_.size() > most ? fmt::format(" and {} more", missing_.size() - most) : "",
                        missing_.size() == 1 ? "the file is" : "the files are",
                        missing_.size() == 1 ? "it is" : "they are"));
    std::ranges::move(sources_.notes(), std::back_inserter(all));
    return all;
}

} // namespace umadvisor::symbols
