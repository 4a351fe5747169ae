#include "service/audit_proof.h"

#include "events/history.h"
#include "events/tiles.h"
#include "service/audit_changes.h"
#include "service/settings_requests.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {
namespace {

using audit::v1::GetCheckpointRequest;
using audit::v1::GetCheckpointResponse;
using audit::v1::GetConsistencyProofRequest;
using audit::v1::GetConsistencyProofResponse;
using audit::v1::GetInclusionProofRequest;
using audit::v1::GetInclusionProofResponse;

constexpr std::chrono::seconds kPatience{10};  // of static paths
constexpr std::string_view kTilePrefix = "/log/tile/";

std::uint64_t number(Position position) { return static_cast<std::uint64_t>(position.value); }

std::string text(const Digest& digest) { return std::string(bytes_of(digest)); }

/// The size of the tree that a request names; the head's when it names none.
Position tree_size(std::uint64_t wanted, Position head, const std::string& field) {
  return wanted == 0 ? head : checked_position(wanted, head, field);
}

GetCheckpointResponse get_checkpoint(Checkpoints& checkpoints, const RequestContext& context) {
  const SignedCheckpoint now = checkpoints.current(context.deadline);
  GetCheckpointResponse response;
  response.set_note(now.note);
  response.set_size(number(now.checkpoint.size));
  response.set_root(text(now.checkpoint.root));
  for (std::string& key : checkpoints.verifier_keys()) response.add_verifier_keys(std::move(key));
  return response;
}

GetInclusionProofResponse get_inclusion_proof(Connection& connection,
                                              const GetInclusionProofRequest& request) {
  if (request.position() == 0)
    refuse({{"position", "invalid position 0: the first event is at position 1"}});
  const Position head = read_tree_head(connection).size;
  const Position position = checked_position(request.position(), head, "position");
  const Position size = tree_size(request.size(), head, "size");
  if (position > size)
    refuse({{"size", "invalid size " + std::to_string(size.value) +
                         ": a tree of that size does not reach position " +
                         std::to_string(position.value)}});
  return TileReader(connection, size)
      .compute<GetInclusionProofResponse>([&](const NodeReader& read) {
        GetInclusionProofResponse response;
        response.set_position(request.position());
        response.set_size(number(size));
        response.set_root(text(root_of(size.value, read)));
        response.set_leaf_hash(text(read({0, position.value - 1})));
        for (const Digest& hash : inclusion_proof(position.value - 1, size.value, read))
          response.add_hashes(text(hash));
        return response;
      });
}

GetConsistencyProofResponse get_consistency_proof(Connection& connection,
                                                  const GetConsistencyProofRequest& request) {
  const Position head = read_tree_head(connection).size;
  const Position from = checked_position(request.from_size(), head, "from_size");
  const Position to = tree_size(request.to_size(), head, "to_size");
  if (from > to)
    refuse({{"from_size", "invalid from_size " + std::to_string(from.value) +
                              ": must be at most to_size, " + std::to_string(to.value)}});
  return TileReader(connection, to)
      .compute<GetConsistencyProofResponse>([&](const NodeReader& read) {
        GetConsistencyProofResponse response;
        response.set_from_size(number(from));
        response.set_from_root(text(root_of(from.value, read)));
        response.set_to_size(number(to));
        response.set_to_root(text(root_of(to.value, read)));
        for (const Digest& hash : consistency_proof(from.value, to.value, read))
          response.add_hashes(text(hash));
        return response;
      });
}

/// Envelopes, each after its length in two bytes.
std::string entry_bundle(Connection& connection, const TileRequest& request) {
  std::string bundle;
  for (const std::string& envelope :
       read_envelopes(connection, {request.tile.index * kTileWidth + 1}, request.width)) {
    if (envelope.size() > 0xffff) throw CorruptLog("an envelope is longer than 64 KiB");
    bundle += static_cast<char>(envelope.size() >> 8);
    bundle += static_cast<char>(envelope.size() & 0xff);
    bundle += envelope;
  }
  return bundle;
}

/// Nothing when the log has not come that far.
std::optional<std::string> tile_content(Connection& connection, const TileRequest& request) {
  const Position head = read_tree_head(connection).size;
  if (tile_width(request.tile, head.value) < request.width) return std::nullopt;
  if (request.entries) return entry_bundle(connection, request);
  return TileReader(connection, head)
      .hashes(request.tile)
      .substr(0, static_cast<std::size_t>(request.width) * sizeof(Digest));
}

void answer_tile(const ProofSources& sources, const HttpRequest& request, std::string_view path,
                 HttpResponse& response) {
  sources.may_read_log(request);
  const auto wanted = parse_tile_path(path);
  std::optional<std::string> content;
  if (wanted)
    content = sources.pool.read(request.received + kPatience, [&](Connection& connection) {
      return tile_content(connection, *wanted);
    });
  if (!content) {
    response.status = 404;
    response.content_type = "text/plain; charset=utf-8";
    response.body = wanted ? "the log has not come that far\n" : "this is no tile's path\n";
    response.set_header("Cache-Control", "no-store");
    return;
  }
  response.content_type = "application/octet-stream";
  response.body = *std::move(content);
  const std::string who = sources.public_log ? "public" : "private";
  response.set_header("Cache-Control", who + ", max-age=31536000, immutable");
}

}  // namespace

void register_proofs(Router& router, const ProofSources& sources) {
  const auto method = [](const char* name) {
    return find_method(audit::v1::Change::descriptor(), "AuditService", name);
  };
  router.unary<GetCheckpointRequest, GetCheckpointResponse>(
      method("GetCheckpoint"),
      [sources](const RequestContext& context, const GetCheckpointRequest&) {
        return get_checkpoint(sources.checkpoints, context);
      });
  router.unary<GetInclusionProofRequest, GetInclusionProofResponse>(
      method("GetInclusionProof"),
      [sources](const RequestContext& context, const GetInclusionProofRequest& request) {
        return sources.pool.read(context.deadline, [&](Connection& connection) {
          return get_inclusion_proof(connection, request);
        });
      });
  router.unary<GetConsistencyProofRequest, GetConsistencyProofResponse>(
      method("GetConsistencyProof"),
      [sources](const RequestContext& context, const GetConsistencyProofRequest& request) {
        return sources.pool.read(context.deadline, [&](Connection& connection) {
          return get_consistency_proof(connection, request);
        });
      });
}

void register_log_paths(Router& router, const ProofSources& sources) {
  router.get("/log/checkpoint", [sources](const HttpRequest& request, HttpResponse& response) {
    sources.may_read_log(request);
    response.body = sources.checkpoints.recent(request.received + kPatience).note;
    response.content_type = "text/plain; charset=utf-8";
    response.set_header("Cache-Control", "no-cache");
  });
  router.get_below(
      std::string(kTilePrefix),
      [sources](const HttpRequest& request, std::string_view path, HttpResponse& response) {
        answer_tile(sources, request, path, response);
      });
}

}  // namespace writ
