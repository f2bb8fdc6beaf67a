#pragma once

// Numbers as text, in the forms of printf.

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace muster {

/// Formats like printf, cut to 63 bytes. The compiler checks the values against the form.
__attribute__((format(printf, 1, 2))) inline std::string format_text(const char* form, ...) {
  std::array<char, 64> text{};
  va_list values;
  va_start(values, form);
  (void)std::vsnprintf(text.data(), text.size(), form, values);
  va_end(values);
  return text.data();
}

}  // namespace muster
