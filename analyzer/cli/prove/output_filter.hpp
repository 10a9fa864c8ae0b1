/// What is left out of a program's output before it is compared.
#pragma once

#include <memory>
#include <regex.h>
#include <string>
#include <vector>

namespace umadvisor::cli {

/// Patterns of --ignore, extended regular expressions of regex(7), each within one line.
class OutputFilter {
public:
    /// Why `pattern` is none; empty: it counts from now on.
    std::string add(const std::string& pattern);

    /// Removes from `file` what the patterns match, and lines of which nothing else is left. `copy` stands in
    /// it as `original`: which copy of a tree a program ran in is no difference. Throws reader::Error where the
    /// file cannot be written.
    void clean(const std::string& file, const std::string& copy, const std::string& original) const;

private:
    struct Free {
        void operator()(regex_t* compiled) const {
            ::regfree(compiled);
            delete compiled;
        }
    };
    std::string without_matches(const std::string& line, const regex_t& pattern) const;

    std::vector<std::unique_ptr<regex_t, Free>> patterns_;
};

} // namespace umadvisor::cli
