/// Call stacks of programs that leave their frames in other ways than by returning, or run code that tells
/// nothing of its frames.
#include "unnoticed.hpp"

#include <map>
#include <set>

BOOST_FIXTURE_TEST_SUITE(process_stacks_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

using Stack = std::vector<std::string>;
constexpr std::uint64_t unit = 4096;

/// The stacks of a program's allocations by their size, as functions, innermost first; "?": in no object.
class Stacks {
public:
    Stacks(const Folder& folder, const std::string& scenario) {
        BOOST_TEST_REQUIRE(check_unnoticed(folder, "stacks_program " + scenario).status == 0);
        for (const Json& module : dump(folder, "Module"))
            if (module.at("path").get<std::string>().find("stacks_program") != std::string::npos)
                bias_ = std::stoull(module.at("bias").get<std::string>(), nullptr, 16);
        for (const Json& frame : dump(folder, "Frame"))
            frames_[frame.at("id")] = frame;
        for (const Json& alloc : dump(folder, "Alloc"))
            if (alloc.at("entry") == "cuMemAlloc_v2")
                found_[alloc.at("bytes").get<std::uint64_t>() / unit].insert(
                    functions(folder, alloc.at("stack").get<std::uint64_t>()));
    }
    /// All that an allocation of that many units was called from, as one text.
    std::string of(std::uint64_t units) const { return text(found_.at(units)); }
    static std::string text(const std::set<Stack>& stacks) { return Json(stacks).dump(); }
    bool starts_with(std::uint64_t units, const Stack& functions) const {
        return std::all_of(found_.at(units).begin(), found_.at(units).end(), [&functions](const Stack& stack) {
            return stack.size() >= functions.size() &&
                   std::equal(functions.begin(), functions.end(), stack.begin());
        });
    }

private:
    /// From the program's own functions on to main().
    Stack functions(const Folder& folder, std::uint64_t stack) {
        Stack names;
        for (; stack != 0; stack = frames_.at(stack).at("parent")) {
            const Json& frame = frames_.at(stack);
            const auto address = std::stoull(frame.at("address").get<std::string>(), nullptr, 16);
            names.push_back(frame.at("module") == 0 ? "?" : name(folder, address - bias_ - 1));
            if (names.back() == "main")
                break;
        }
        return names;
    }
    const std::string& name(const Folder& folder, std::uint64_t offset) {
        std::string& name = names_[offset];
        if (name.empty()) {
            std::ostringstream command;
            command << "addr2line -f -C -e " << programs << "/stacks_program 0x" << std::hex << offset;
            name = run(folder, command.str()).out;
            name = name.substr(0, name.find_first_of("(\n", name.find("::") + 1));
            if (const auto scope = name.rfind("::"); scope != name.npos)
                name = name.substr(scope + 2);
        }
        return name;
    }

    std::uint64_t bias_ = 0;
    std::map<std::uint64_t, Json> frames_;
    std::map<std::uint64_t, std::string> names_;
    std::map<std::uint64_t, std::set<Stack>> found_;
};

} // namespace

BOOST_AUTO_TEST_CASE(exceptions_are_thrown_through_frames_that_were_unwound) {
    const Stacks stacks(folder, "exceptions");
    const std::set<Stack> thrown{
        {"allocate", "throw_below", "throw_on", "throw_exceptions", "main"},
        {"allocate", "throw_below", "throw_below", "throw_on", "throw_exceptions", "main"},
        {"allocate", "throw_below", "throw_below", "throw_below", "throw_on", "throw_exceptions", "main"}};
    BOOST_TEST(stacks.of(10) == Stacks::text(thrown));
    BOOST_TEST(stacks.of(11) == Stacks::text({{"allocate", "throw_on", "throw_exceptions", "main"}}));
    BOOST_TEST(stacks.of(20) == Stacks::text({{"allocate", "throw_exceptions", "main"}}));
}

BOOST_AUTO_TEST_CASE(frames_that_were_unwound_are_jumped_over) {
    const Stacks stacks(folder, "jumps");
    const std::set<Stack> jumped{{"allocate", "jump_below", "jump", "main"},
                                 {"allocate", "jump_below", "jump_below", "jump", "main"},
                                 {"allocate", "jump_below", "jump_below", "jump_below", "jump", "main"}};
    BOOST_TEST(stacks.of(10) == Stacks::text(jumped));
    BOOST_TEST(stacks.of(20) == Stacks::text({{"allocate", "jump", "main"}}));
}

BOOST_AUTO_TEST_CASE(coroutines_are_called_by_who_resumes_them) {
    const Stacks stacks(folder, "coroutines");
    BOOST_TEST(stacks.of(10) ==
               Stacks::text({{"allocate", "allocating_numbers", "take_even", "run_coroutines", "main"}}));
    BOOST_TEST(stacks.of(11) ==
               Stacks::text({{"allocate", "allocating_numbers", "take_odd", "run_coroutines", "main"}}));
}

BOOST_AUTO_TEST_CASE(generated_code_has_its_place_and_what_it_hides_is_counted) {
    const Stacks stacks(folder, "generated");
    // With a frame pointer the unwinder finds on; without one the stack has its top, and the report says so.
    BOOST_TEST(stacks.of(10) == Stacks::text({{"?", "call_generated", "run_generated_code", "main"}}));
    BOOST_TEST(stacks.starts_with(11, {"?"}));
    const Json completeness = report(folder).at("completeness");
    BOOST_TEST(completeness.at("complete") == true);
    const int cut = completeness.at("stacks_cut");
    BOOST_TEST(cut >= 60);  // where rbp leads nowhere
    BOOST_TEST(cut <= 100); // all without a frame pointer
    BOOST_TEST(says(completeness.at("lines").dump(), "could not be unwound"));
}

BOOST_AUTO_TEST_SUITE_END()
