/// The frame of every page: a single file, whose policy admits only its own script and style.
#pragma once

#include "analyzer/reports/html/markup.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::html {

struct Section {
    std::string_view id, words;
};

/// All up to the beginning of `main`. The first link skips to the second section.
void begin_page(Markup& out, const std::string& title, const std::vector<Section>& sections,
                std::string_view file);
/// The rest: lines below the page, and the script with the data that it draws, `bytes` in base64.
void end_page(Markup& out, const std::vector<std::string>& footer, const nlohmann::ordered_json& data,
              std::string_view bytes = {});

} // namespace umadvisor::html
