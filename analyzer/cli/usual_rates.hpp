/// The machine's rates, in the file to which `umadvisor calibrate` writes them by default.
#pragma once

#include "analyzer/machine/rates.hpp"

#include <string>

namespace umadvisor::cli {

std::string usual_rates_file(); ///< in config_folder(); empty: there is none

/// The rates in the usual file, if it exists and was measured on `device`; else an H200's. A damaged file
/// throws as machine::read_rates() does.
machine::Rates usual_rates(const std::string& device);

/// Puts `rates` into the usual file, beside those of other devices; a damaged file is made anew. Throws
/// reader::Error where it cannot be written.
void keep_usual_rates(const machine::Rates& rates);

} // namespace umadvisor::cli
