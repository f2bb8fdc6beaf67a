#pragma once

#include <utility>

namespace muster {

/// A value that is read when it is asked for first: few jobs need it, and each start would pay for it.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  explicit Lazy(T (*read)()) : read_(read) {}
  Lazy& operator=(T value) {
    value_ = std::move(value);
    read_ = nullptr;
    return *this;
  }

  [[nodiscard]] const T& get() const {
    if (read_ != nullptr) {
      value_ = read_();
      read_ = nullptr;
    }
    return value_;
  }

 private:
  mutable T (*read_)() = nullptr;  ///< null: the value is here
  mutable T value_;
};

}  // namespace muster
