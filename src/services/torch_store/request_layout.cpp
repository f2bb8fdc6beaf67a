// One table of layouts, and one of requests.
#include "services/torch_store/request_layout.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace muster::store {
namespace {

constexpr std::array kKey = {Field::Key};
constexpr std::array kKeyAndValue = {Field::Key, Field::Value};
constexpr std::array kKeyAndTwoValues = {Field::Key, Field::Value, Field::Value};
constexpr std::array kKeyAndAmount = {Field::Key, Field::Amount};
constexpr std::array kNonce = {Field::Nonce};

template <typename WithKeyAndValue>
Request key_and_value(Contents& contents) {
  return WithKeyAndValue{{std::move(contents.texts[0]), std::move(contents.texts[1])}};
}

Request about_one_key(Operation operation, std::string key) {
  switch (operation) {
    case Operation::Get:
      return request::Get{std::move(key)};
    case Operation::WatchKey:
      return request::WatchKey{std::move(key)};
    case Operation::DeleteKey:
      return request::DeleteKey{std::move(key)};
    case Operation::QueuePop:
      return request::QueuePop{std::move(key)};
    case Operation::QueueLength:
      return request::QueueLength{std::move(key)};
    default:
      throw std::logic_error("no request");
  }
}

std::vector<KeyAndValue> pairs_of(std::vector<std::string> texts) {
  std::vector<KeyAndValue> pairs;
  pairs.reserve(texts.size() / 2);
  for (std::size_t i = 0; i < texts.size(); i += 2) {
    pairs.push_back({std::move(texts[i]), std::move(texts[i + 1])});
  }
  return pairs;
}

}  // namespace

Layout layout_of(Operation operation) {
  switch (operation) {
    case Operation::Set:
    case Operation::Append:
    case Operation::QueuePush:
      return {kKeyAndValue};
    case Operation::CompareSet:
      return {kKeyAndTwoValues};
    case Operation::Get:
    case Operation::WatchKey:
    case Operation::DeleteKey:
    case Operation::QueuePop:
    case Operation::QueueLength:
      return {kKey};
    case Operation::Add:
    case Operation::Barrier:
      return {kKeyAndAmount};
    case Operation::Check:
    case Operation::Wait:
    case Operation::MultiGet:
      return {kKey, true};
    case Operation::MultiSet:
      return {kKeyAndValue, true};
    case Operation::Ping:
      return {kNonce};
    case Operation::Validate:
    case Operation::CountKeys:
    case Operation::CancelWait:
    case Operation::ListKeys:
      break;
  }
  return {};
}

Request make_request(Operation operation, Contents contents) {
  auto& texts = contents.texts;
  switch (operation) {
    case Operation::Set:
      return key_and_value<request::Set>(contents);
    case Operation::Append:
      return key_and_value<request::Append>(contents);
    case Operation::QueuePush:
      return key_and_value<request::QueuePush>(contents);
    case Operation::CompareSet:
      return request::CompareSet{std::move(texts[0]), std::move(texts[1]), std::move(texts[2])};
    case Operation::Add:
      return request::Add{std::move(texts[0]), static_cast<std::int64_t>(contents.number)};
    case Operation::Barrier:
      return request::Barrier{std::move(texts[0]), static_cast<std::int64_t>(contents.number)};
    case Operation::Check:
      return request::Check{std::move(texts)};
    case Operation::Wait:
      return request::Wait{std::move(texts)};
    case Operation::MultiGet:
      return request::MultiGet{std::move(texts)};
    case Operation::MultiSet:
      return request::MultiSet{pairs_of(std::move(texts))};
    case Operation::Ping:
      return request::Ping{static_cast<std::uint32_t>(contents.number)};
    case Operation::CountKeys:
      return request::CountKeys{};
    case Operation::CancelWait:
      return request::CancelWait{};
    case Operation::ListKeys:
      return request::ListKeys{};
    default:
      return about_one_key(operation, std::move(texts.at(0)));
  }
}

}  // namespace muster::store
