#pragma once

#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace rubble {

/// Writes one line to standard error in a single write. `level` is INFO, WARNING or ERROR.
template <typename... Parts>
void log(const char* level, const Parts&... parts) {
    const auto now = std::chrono::system_clock::now();
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm calendar{};
    localtime_r(&seconds, &calendar);
    std::ostringstream line;
    line << std::put_time(&calendar, "%F %T") << ',' << std::setfill('0') << std::setw(3) << since.count() % 1000 << ' '
         << level << ' ';
    (line << ... << parts) << '\n';
    std::cerr << line.str() << std::flush;
}

}  // namespace rubble
