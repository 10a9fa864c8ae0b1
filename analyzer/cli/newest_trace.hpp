/// Traces that the command line does not name, and the browser for their pages.
#pragma once

#include <string>

namespace umadvisor::cli {

/// Of the traces (.umtrace) in the working directory, the one that was written last. Throws reader::Error where
/// there is none.
std::string newest_trace();

/// Whether `umadvisor NAME` means `umadvisor report NAME`: it is the name of a trace or a job that exists.
bool is_reportable(const std::string& name);

/// Starts the program that BROWSER names, else xdg-open, with this file, and does not wait for it. Says so
/// where there is none.
void open_in_browser(const std::string& file);

} // namespace umadvisor::cli
