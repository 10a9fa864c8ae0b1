/// A report as one HTML file: `umadvisor report --html`.
#pragma once

#include "analyzer/advice/report.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// Whether umadvisor was built with what the page is made of.
bool available();

struct PageOptions {
    bool with_source = true;                                           ///< quote lines of the source
    std::function<std::string_view(std::string_view id)> page_of_rule; ///< as `umadvisor explain` prints it
    std::string_view version;
    bool links_to_editor = false; ///< places lead to Visual Studio Code
};

class TimelinePass;

/// Makes the page of one report.
class PageMaker {
public:
    explicit PageMaker(PageOptions options);
    ~PageMaker();

    /// What a report runs beside; page() waits for it.
    std::function<void()> beside(advice::Report& report);
    /// A document that loads nothing from anywhere. Its numbers are those of reports::to_json. Throws
    /// reader::Error.
    std::string page(advice::Report& report);

private:
    PageOptions options_;
    std::unique_ptr<TimelinePass> pass_;
};

} // namespace umadvisor::html
