#pragma once

#include <string_view>

namespace writ::fuzz {

// What is fuzzed. Each target takes any bytes and throws when the code under test broke a promise
// of its header; a crash, a leak, undefined behaviour, or too much time or memory is for the
// sanitizers and libFuzzer to see.

/// Bytes of a connection, from the request line on.
void http_head(std::string_view input);
/// A chunked body and what follows it.
void http_body(std::string_view input);
/// A digit that chooses the message and the mode, then JSON.
void protojson(std::string_view input);
/// The query of a GET.
void connect_get(std::string_view input);
/// The body of a gRPC-Web request; also a gzip text.
void envelope(std::string_view input);
/// The body of a gRPC-Web text request; also a Grpc-Timeout, and bytes to be encoded.
void grpc_web_text(std::string_view input);
/// A quantity, or two with a line feed between them.
void quantity(std::string_view input);
/// A binary GetSettingsForEditResponse, whose levels are pruned, validated and merged.
void settings_tree(std::string_view input);
/// A binary ApplyRunRequest, whose run and tasks meet settings.
void apply_run(std::string_view input);

}  // namespace writ::fuzz
