#pragma once

// What a client's request about keys does, and what is answered to whom. Pure.

#include "services/torch_store/answers.hpp"
#include "services/torch_store/generations.hpp"
#include "services/torch_store/request.hpp"

#include "base/result.hpp"
#include "services/torch_store/client.hpp"

#include <string>
#include <vector>

namespace muster::store {

/// For one client in its generation; a visitor of `KeyRequest`. Fails when the client is to be refused: why.
class KeyActions {
 public:
  KeyActions(ClientId client, Generation& generation, Answers& answers)
      : client_(client), generation_(generation), answers_(answers) {}

  [[nodiscard]] Result<> operator()(request::Set& request);
  [[nodiscard]] Result<> operator()(request::CompareSet& request);
  [[nodiscard]] Result<> operator()(request::Get& request);
  [[nodiscard]] Result<> operator()(request::Add& request);
  [[nodiscard]] Result<> operator()(request::Check& request);
  [[nodiscard]] Result<> operator()(request::Wait& request);
  [[nodiscard]] Result<> operator()(request::CountKeys& request);
  [[nodiscard]] Result<> operator()(request::DeleteKey& request);
  [[nodiscard]] Result<> operator()(request::Append& request);
  [[nodiscard]] Result<> operator()(request::MultiGet& request);
  [[nodiscard]] Result<> operator()(request::MultiSet& request);
  [[nodiscard]] Result<> operator()(request::CancelWait& request);
  [[nodiscard]] Result<> operator()(request::QueuePush& request);
  [[nodiscard]] Result<> operator()(request::QueuePop& request);
  [[nodiscard]] Result<> operator()(request::QueueLength& request);
  [[nodiscard]] Result<> operator()(request::ListKeys& request);
  [[nodiscard]] Result<> operator()(request::Barrier& request);

 private:
  template <typename Number>
  [[nodiscard]] Result<> answer(Number number);
  /// With its length; null is empty.
  [[nodiscard]] Result<> answer_value(SharedValue value);
  [[nodiscard]] Result<> wait_for(const std::vector<std::string>& missing);
  void wake(const std::string& key);

  ClientId client_;
  Generation& generation_;
  Answers& answers_;
};

}  // namespace muster::store
