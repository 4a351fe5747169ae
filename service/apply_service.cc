#include "service/apply_service.h"

#include <array>
#include <memory>

#include "projections/settings.h"
#include "schema/apply/apply.h"
#include "service/audit_point.h"
#include "service/settings_commands.h"
#include "service/settings_requests.h"

namespace writ {
namespace {

constexpr std::size_t kMostViolations = 100;  // of one answer

/// The record of one scope: which version of it is in effect.
struct ChainLevel {
  ScopeKey key;
  StreamVersion version;
};

/// The records of a chain that there are, broadest first, at a position, and what they say.
struct Chain {
  Position position;
  std::vector<ChainLevel> levels;
  std::shared_ptr<ReadyChain> ready;
};

Chain chain_now(SettingsReader& reader, ReadyChains& chains, const ScopeKey& key,
                const RequestContext& context) {
  const std::vector<ScopeKey> keys = key.levels();
  std::vector<std::string> names;
  for (const ScopeKey& one : keys) names.push_back(one.storage_key());
  const SettingsReader::AtHead read = reader.fetch_at_head(names, context.deadline);
  Chain chain{read.head, {}, {}};
  ReadyChains::Records records;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!read.stored[i]) continue;
    chain.levels.push_back({keys[i], {read.stored[i]->version}});
    records[i] = read.stored[i];
  }
  chain.ready = chains.ready(records);
  return chain;
}

Chain chain_then(ConnectionPool& past, const ScopeKey& key, const audit::v1::Point& at,
                 const RequestContext& context) {
  return past.read(context.deadline, [&](Connection& connection) {
    Chain chain{resolve_point(connection, at, key, "at"), {}, {}};
    const std::vector<StoredAt> records = chain_at(connection, key, chain.position);
    std::vector<Level> levels;
    for (const StoredAt& one : records) {
      if (!one.event) continue;
      chain.levels.push_back({one.key, one.event->version});
      levels.push_back({one.key.scope(), &one.settings});
    }
    chain.ready = std::make_shared<ReadyChain>(levels);
    return chain;
  });
}

/// Looks up what is not known of a chain yet.
std::vector<Position> look_up(const std::vector<SettingSource>& sources, const Chain& chain,
                              LeafOrigins& origins, const RequestContext& context) {
  std::array<const ChainLevel*, 3> of_scope{};
  for (const ChainLevel& level : chain.levels)
    of_scope[static_cast<std::size_t>(level.key.scope())] = &level;
  std::vector<VersionedPath> paths;
  for (const SettingSource& source : sources) {
    const ChainLevel& level = *of_scope[static_cast<std::size_t>(source.scope_level)];
    paths.push_back({settings_stream(level.key).value, level.version, std::string(source.setting)});
  }
  return origins.find(paths, context.deadline);
}

/// Puts the events' positions to the changes.
void tell_positions(Changes& changes, const Chain& chain, LeafOrigins& origins,
                    const RequestContext& context) {
  std::vector<SettingSource> sources;
  sources.reserve(2 * static_cast<std::size_t>(changes.size()));
  // What has a setting, a scope level and a position to be told: a change, or its bound.
  const auto add = [&](const auto& told) {
    if (!told.setting().empty()) sources.push_back({told.setting(), told.scope_level()});
  };
  for (const apply::v1::Change& change : changes) {
    add(change);
    add(change.bounded_by());
  }
  const std::vector<Position> found = chain.ready->origins.find(
      sources, [&](const auto& missing) { return look_up(missing, chain, origins, context); });
  auto place = found.begin();
  const auto next = [&] { return static_cast<std::uint64_t>((place++)->value); };
  for (apply::v1::Change& change : changes) {
    if (!change.setting().empty()) change.set_position(next());
    if (!change.bounded_by().setting().empty()) change.mutable_bounded_by()->set_position(next());
  }
}

}  // namespace

void ApplyService::apply_run(const RequestContext& context, apply::v1::ApplyRunRequest& request,
                             apply::v1::ApplyRunResponse* response) {
  const ScopeKey key = checked_key(context, key_of(request));
  const bool now = request.at().at_case() == audit::v1::Point::AT_NOT_SET;
  const Chain chain = now ? chain_now(sources_.reader, ready_, key, context)
                          : chain_then(sources_.past, key, request.at(), context);
  response->mutable_run_spec()->Swap(request.mutable_run_spec());
  response->mutable_tasks()->Swap(request.mutable_tasks());
  Explained explained = apply_settings(chain.ready->settings, response->mutable_run_spec(),
                                       response->mutable_tasks(), response->GetArena());
  if (explained.violations.size() > kMostViolations) explained.violations.resize(kMostViolations);
  refuse(explained.violations);
  tell_positions(explained.changes, chain, sources_.origins, context);

  response->set_position(static_cast<std::uint64_t>(chain.position.value));
  response->mutable_changes()->Swap(&explained.changes);
  // A run service must not lose a part of a task without noticing.
  if (context.notes != nullptr && !context.notes->warnings.empty())
    response->add_warnings("fields that this server does not know were left out: " +
                           context.notes->warnings + "; they are kept when the request is binary");
  for (std::string& warning : explained.warnings) response->add_warnings(std::move(warning));
}

void register_apply_service(Router& router, ApplyService& service) {
  router.unary_in_place<apply::v1::ApplyRunRequest, apply::v1::ApplyRunResponse>(
      find_method(apply::v1::ApplyRunRequest::descriptor(), "ApplyService", "ApplyRun"),
      [&](const auto& context, auto& request, auto* response) {
        service.apply_run(context, request, response);
      });
}

}  // namespace writ
