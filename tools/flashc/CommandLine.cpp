//===- CommandLine.cpp - flags, their parsing and their help --------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/CommandLine.h"
#include "tools/flashc/Suggest.h"

#include <boost/program_options.hpp>

#include <charconv>
#include <sstream>

namespace po = boost::program_options;

namespace flashc::tool {
namespace {

constexpr unsigned helpWidth = 100;

po::options_description toBoost(const FlagGroup &group) {
  po::options_description result(group.title, helpWidth, helpWidth / 2);
  for (const Flag &flag : group.flags) {
    const std::string name = flag.letter ? flag.name + "," + flag.letter : flag.name;
    if (flag.operand.empty())
      result.add_options()(name.c_str(), flag.help.c_str());
    else
      result.add_options()(name.c_str(), po::value<std::string>()->value_name(flag.operand),
                           flag.help.c_str());
  }
  return result;
}

const Flag *findFlag(std::span<const FlagGroup> groups, std::string_view name) {
  for (const FlagGroup &group : groups)
    for (const Flag &flag : group.flags)
      if (flag.name == name)
        return &flag;
  return nullptr;
}

[[noreturn]] void failUnknown(const std::string &command, std::span<const FlagGroup> groups,
                              std::string given) {
  std::vector<std::string> names;
  for (const FlagGroup &group : groups)
    for (const Flag &flag : group.flags)
      names.push_back(flag.name);
  const std::string bare = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  throw UsageError(concat("expected a flag of 'flashc ", command, "' ('flashc ", command,
                          " --help' lists them), got '", given, "'",
                          didYouMean(bare, names, "--")));
}

} // namespace

std::optional<std::string> Arguments::find(std::string_view flag) const {
  const auto found = values.find(flag);
  if (found == values.end())
    return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  const auto found = values.find(flag);
  return found == values.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> Arguments::given() const {
  std::vector<std::string> names;
  for (const auto &[name, value] : values)
    names.push_back(name);
  return names;
}

int64_t Arguments::integer(std::string_view flag, int64_t least, int64_t most,
                           int64_t otherwise) const {
  const std::optional<std::string> text = find(flag);
  if (!text)
    return otherwise;
  int64_t value = 0;
  const char *end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw UsageError(concat("--", flag, ": expected an integer from ", least, " to ", most,
                            ", got '", *text, "'"));
  return value;
}

Arguments parseArguments(const std::string &command, std::span<const FlagGroup> groups,
                         std::span<const std::string> args, size_t maxPositional) {
  po::options_description all;
  for (const FlagGroup &group : groups)
    all.add(toBoost(group));
  using namespace po::command_line_style;
  const int style = unix_style & ~allow_guessing & ~allow_sticky;
  Arguments result;
  try {
    const po::parsed_options parsed =
        po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
            .options(all)
            .style(style)
            .run();
    for (const po::option &option : parsed.options) {
      if (option.string_key.empty() || option.position_key >= 0) {
        result.words.insert(result.words.end(), option.value.begin(), option.value.end());
        continue;
      }
      const Flag *flag = findFlag(groups, option.string_key);
      if (!flag)
        failUnknown(command, groups, "--" + option.string_key);
      std::vector<std::string> &values = result.values[flag->name];
      if (!values.empty() && !flag->repeatable)
        throw UsageError(concat("expected --", flag->name, " once, got it twice"));
      const std::string value = option.value.empty() ? "" : option.value.front();
      // Boost takes any next word as the value, a flag that follows too.
      const bool isNextWord = option.original_tokens.size() == 2;
      if (isNextWord && value.starts_with("--") &&
          findFlag(groups, std::string_view(value).substr(2, value.find('=') - 2)))
        throw UsageError(concat("--", flag->name, ": expected a value ", flag->operand,
                                ", got the flag ", value));
      values.push_back(value);
    }
  } catch (const po::unknown_option &error) {
    failUnknown(command, groups, error.get_option_name());
  } catch (const po::invalid_command_line_syntax &error) {
    const std::string name = error.get_option_name();
    const Flag *flag = findFlag(groups, name.substr(std::min<size_t>(2, name.size())));
    if (flag && !flag->operand.empty())
      throw UsageError(concat(name, ": expected a value ", flag->operand, ", got none"));
    throw UsageError(concat(name, ": expected no value, got one"));
  } catch (const po::error &error) {
    throw UsageError(concat("expected flags of 'flashc ", command, "', got: ", error.what()));
  }
  if (result.words.size() > maxPositional)
    throw UsageError(concat("expected ", maxPositional ? "one file" : "flags only", ", got '",
                            result.words[maxPositional],
                            "'; values follow their flag, as in "
                            "--q q.npy"));
  return result;
}

std::string describeFlags(std::span<const FlagGroup> groups) {
  std::ostringstream out;
  for (const FlagGroup &group : groups)
    out << '\n' << toBoost(group);
  // Boost leaves blanks at the ends of lines.
  std::istringstream lines(out.str());
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  return result;
}

} // namespace flashc::tool
