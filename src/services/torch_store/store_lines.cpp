// One object a line; its first key says what it is.
#include "services/torch_store/store_lines.hpp"

#include "base/json.hpp"

#include <utility>

namespace muster {
namespace {

json::array write_processes(const std::vector<store::Process>& processes) {
  json::array all;
  for (const store::Process& process : processes) {
    all.push_back(
        {json::value(process.address), process.pid ? json::value(*process.pid) : json::value()});
  }
  return all;
}

struct Write {
  json::object operator()(const StoreNotice& remark) const { return {{"remark", remark.text}}; }
  json::object operator()(const StoreEnd& end) const { return {{"end", end.why}}; }
  json::object operator()(const StoreStatus& news) const {
    return {{"meeting", news.init_barrier},
            {"expected", news.expected},
            {"is_complete", news.is_complete},
            {"arrived", write_processes(news.arrived)}};
  }
  json::object operator()(const store::AwaitedKeys& awaited) const {
    json::array keys;
    for (const store::AwaitedKey& one : awaited.keys) {
      keys.push_back({json::value(one.key), one.clients, write_processes(one.processes)});
    }
    return {{"awaited", std::move(keys)}, {"are_all", awaited.are_all}};
  }
};

std::vector<store::Process> read_processes(const json::value& list) {
  std::vector<store::Process> processes;
  for (const json::value& entry : list.as_array()) {
    const json::array& process = entry.as_array();
    processes.push_back({std::string(process.at(0).as_string()), std::nullopt});
    if (!process.at(1).is_null()) {
      processes.back().pid = process.at(1).to_number<std::uint32_t>();
    }
  }
  return processes;
}

store::AwaitedKeys read_awaited(const json::object& object) {
  store::AwaitedKeys awaited;
  awaited.are_all = object.at("are_all").as_bool();
  for (const json::value& entry : object.at("awaited").as_array()) {
    const json::array& one = entry.as_array();
    awaited.keys.push_back({std::string(one.at(0).as_string()),
                            one.at(1).to_number<std::size_t>(),
                            read_processes(one.at(2))});
  }
  return awaited;
}

StoreStatus read_news(const json::object& object) {
  StoreStatus news;
  news.init_barrier = object.at("meeting").to_number<std::size_t>();
  news.expected = object.at("expected").to_number<std::size_t>();
  news.is_complete = object.at("is_complete").as_bool();
  news.arrived = read_processes(object.at("arrived"));
  return news;
}

StoreMessage read_object(const json::object& object) {
  if (const auto* const remark = object.if_contains("remark")) {
    return StoreNotice{std::string(remark->as_string())};
  }
  if (const auto* const end = object.if_contains("end")) {
    return StoreEnd{std::string(end->as_string())};
  }
  return object.contains("awaited") ? StoreMessage(read_awaited(object))
                                    : StoreMessage(read_news(object));
}

}  // namespace

std::string write_line(const StoreMessage& line) {
  json::value document = std::visit(Write{}, line);
  make_valid_utf8(document);
  return json::serialize(document) + '\n';
}

Result<std::vector<StoreMessage>> StoreLineReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<StoreMessage> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    try {
      lines.push_back(
          read_object(json::parse(std::string_view(rest_).substr(begin, end - begin)).as_object()));
    } catch (
        const std::exception& wrong) {  // Boost.JSON throws for what is not as it is asked to be
      return Error{
          ErrorKind::BadData,
          std::string("the store's process says what is none of its words: ") + wrong.what()};
    }
  }
  rest_.erase(0, begin);
  return lines;
}

}  // namespace muster
