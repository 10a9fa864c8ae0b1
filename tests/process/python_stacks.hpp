/// Python frames in a trace, beside what the script itself said of them.
#pragma once

#include "process.hpp"
#include "tests/python_interpreters.hpp"

#include <map>

namespace umadvisor::test {

inline const std::string scripts = UMADVISOR_SOURCE "/tests/process/programs/python/";

/// The definitions of a trace by their numbers.
class PythonStacks {
public:
    PythonStacks(const Folder& folder, const std::string& trace) {
        for (const char* kind : {"Frame", "PythonFrame", "PythonCode"})
            for (const Json& record : dump(folder, kind, {}, trace))
                records_[kind].emplace(record.at("id").get<std::uint64_t>(), record);
    }

    /// File, line and function of each Python frame, the innermost first, as scripts print them.
    Json python(std::uint64_t stack) const {
        Json frames = Json::array();
        const auto joined = records_.at("Frame").find(stack);
        for (std::uint64_t id =
                 joined == records_.at("Frame").end() ? 0 : joined->second.at("python").get<std::uint64_t>();
             id != 0;) {
            const Json& frame = records_.at("PythonFrame").at(id);
            const Json& code = records_.at("PythonCode").at(frame.at("code"));
            frames.push_back({code.at("file"), frame.at("line"), code.at("function")});
            id = frame.at("parent");
        }
        return frames;
    }
    std::size_t codes() const { return records_.at("PythonCode").size(); }

private:
    std::map<std::string, std::map<std::uint64_t, Json>> records_{
        {"Frame", {}}, {"PythonFrame", {}}, {"PythonCode", {}}};
};

/// Each line that frames.py and its like printed is a stack of x.umtrace. Answers how many there were.
inline std::size_t check_frames(const Folder& folder, const std::string& printed) {
    const PythonStacks stacks(folder, "x.umtrace");
    std::map<std::uint64_t, std::uint64_t> stack_of;
    for (const Json& record : dump(folder, "Alloc"))
        stack_of[record.at("bytes")] = record.at("stack");
    std::istringstream lines(printed);
    std::size_t compared = 0;
    for (std::string line; std::getline(lines, line); ++compared) {
        const Json expected = Json::parse(line);
        BOOST_TEST_REQUIRE(stack_of.contains(expected.at("bytes")), line);
        Json told = expected.at("frames");
        constexpr std::size_t deepest = 64; // UMADVISOR_STACKS
        if (told.size() > deepest)
            told.erase(told.begin() + deepest, told.end());
        const Json recorded = stacks.python(stack_of[expected.at("bytes")]);
        BOOST_TEST(recorded == told, recorded.dump() << "\n" << told.dump());
    }
    return compared;
}

} // namespace umadvisor::test
