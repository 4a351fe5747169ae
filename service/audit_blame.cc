#include "service/audit_blame.h"

#include <map>

#include "service/proto_time.h"
#include "service/settings_commands.h"

namespace writ {
namespace {

using audit::v1::BlamedLeaf;
using audit::v1::LeafValue;
using flyteidl2::settings::SETTING_STATE_UNSET;

/// One thing that one scope says.
struct Said {
  const StoredAt* by;
  LeafValue value;
};

/// What is in effect, and what it hides, broadest first.
struct Effective {
  std::string path;
  std::string leaf;
  std::vector<Said> said;  // the last one is in effect
};

/// The same as merge does, remembering who said what: a scalar is the last scope's, an entry of a
/// map the last scope's that has it, unless a scope between took the whole map back.
std::vector<Effective> effective_entries(const std::vector<StoredAt>& chain) {
  std::vector<Effective> all;
  std::map<std::string, std::size_t> places;
  std::map<std::string, bool> taken_back;  // entries below an UNSET
  for (const StoredAt& one : chain) {
    for (const LeafEntry& entry : leaf_entries(one.settings)) {
      if (entry.path == entry.leaf && entry.value.state() == SETTING_STATE_UNSET)
        for (const Effective& known : all)
          if (known.leaf == entry.path && known.path != entry.path) taken_back[known.path] = true;
      const auto [place, added] = places.try_emplace(entry.path, all.size());
      if (added) all.push_back({entry.path, entry.leaf, {}});
      all[place->second].said.push_back({&one, entry.value});
      taken_back[entry.path] = false;
    }
  }
  std::erase_if(all, [&](const Effective& one) { return taken_back[one.path]; });
  return all;
}

void fill_origin(const std::optional<RecordedEvent>& event, const Said& said,
                 const std::string& path, audit::v1::Origin* origin) {
  if (!event)
    throw CorruptLog("the index of changed settings has nothing about " + path + " of " +
                     said.by->key.storage_key());
  origin->set_scope_level(
      static_cast<flyteidl2::settings::ScopeLevel>(static_cast<int>(said.by->key.scope())));
  origin->set_position(static_cast<std::uint64_t>(event->position.value));
  origin->set_version(static_cast<std::uint64_t>(event->version.value));
  origin->set_actor(event->actor);
  origin->set_reason(event->reason);
  *origin->mutable_time() = to_proto(event->recorded_at);
}

}  // namespace

audit::v1::BlameResponse blame_chain(Connection& connection, const std::vector<StoredAt>& chain,
                                     Position position, const PathFilter& filter) {
  std::vector<Effective> effective = effective_entries(chain);
  std::erase_if(effective, [&](const Effective& one) { return !filter.matches(one.path); });
  std::vector<StreamPath> wanted;
  for (const Effective& one : effective)
    for (const Said& said : one.said)
      wanted.push_back({settings_stream(said.by->key).value, one.path});
  const std::vector<std::optional<RecordedEvent>> events =
      last_changes(connection, wanted, position);
  audit::v1::BlameResponse response;
  response.set_position(static_cast<std::uint64_t>(position.value));
  auto event = events.begin();
  for (const Effective& one : effective) {
    BlamedLeaf& leaf = *response.add_leaves();
    leaf.set_path(one.path);
    for (const Said& said : one.said) {
      const bool in_effect = &said == &one.said.back();
      audit::v1::HiddenLeaf* hidden = in_effect ? nullptr : leaf.add_hidden();
      *(in_effect ? leaf.mutable_value() : hidden->mutable_value()) = said.value;
      fill_origin(*event++, said, one.path,
                  in_effect ? leaf.mutable_origin() : hidden->mutable_origin());
    }
  }
  return response;
}

}  // namespace writ
