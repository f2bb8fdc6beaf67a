#pragma once

// Finds secrets by their names, and masks them in what is printed or kept: names of variables, options and headers.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// True for names whose values are never shown: tokens, secrets, passwords, keys, credentials, in any case. False for
/// "TOKENIZER", "MAX_TOKENS" and "PAD_TOKEN".
bool is_secret_name(std::string_view name);

/// The value, or "***" if `name` is that of a secret. In "name:password@host" and "://name@host", masks the part
/// before the host.
std::string masked(std::string_view name, const std::string& value);

/// Masks secrets in words of a command line: the x of "--api-token=x", "TOKEN=x" and "wandb.api_key=x", and the word
/// after "--password" or "password:", unless it begins with "--". A word may be a script, a header, a URL or JSON.
std::vector<std::string> masked_words(std::vector<std::string> words);

/// Masks secrets in `one_line` of a program's output: like those of a command line, also in quotes.
std::string masked_line(std::string_view line, std::size_t most);

}  // namespace muster
