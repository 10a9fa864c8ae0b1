/// Bars of the head.
#pragma once

#include "analyzer/reports/html/markup.hpp"

#include <string>
#include <string_view>

namespace umadvisor::html {

/// "12.34%" of a share.
std::string percent(double share);

/// The begin of an entry of a legend: `<li>`, a field of the colour, and what it stands for.
void begin_legend_entry(Markup& out, std::string_view colour, std::string_view words);

/// A bar, each part of it a rectangle with its name where there is room.
class Bar {
public:
    explicit Bar(std::string_view label);
    /// `share`: of the width. `colour`: the name of one in the style.
    void part(double share, std::string_view colour, std::string_view words, const std::string& title);
    std::string str();

private:
    Markup out_;
    double at_ = 0;
};

} // namespace umadvisor::html
