/// A job of several ranks as one HTML file: `umadvisor report --html job.umjob`.
#pragma once

#include "analyzer/ranks/comparison.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// The address of the page of a rank, by the name of its trace; empty: there is none.
using PageOfTrace = std::function<std::string(const std::string& trace)>;

/// Its numbers are those of ranks::to_json.
std::string job_page(const ranks::Comparison& job, std::string_view version, const PageOfTrace& page_of);

} // namespace umadvisor::html
