#pragma once

#include "events/sequencer.h"
#include "flyteidl2/settings/settings_service.pb.h"
#include "projections/settings_reader.h"
#include "service/connect.h"

namespace writ {

/// `flyteidl2.settings.SettingsService`: effective settings, records for editing, and the two
/// writes. Its methods throw ConnectError with the messages of design/settings.md, and what the
/// sequencer and the pool throw. Safe to call from any thread.
class SettingsService {
 public:
  SettingsService(Sequencer& sequencer, SettingsReader& reader)
      : sequencer_(sequencer), reader_(reader) {}

  flyteidl2::settings::GetSettingsResponse get_settings(
      const RequestContext& context, const flyteidl2::settings::GetSettingsRequest& request);
  flyteidl2::settings::GetSettingsForEditResponse get_settings_for_edit(
      const RequestContext& context, const flyteidl2::settings::GetSettingsForEditRequest& request);
  flyteidl2::settings::CreateSettingsResponse create_settings(
      const RequestContext& context, const flyteidl2::settings::CreateSettingsRequest& request);
  flyteidl2::settings::UpdateSettingsResponse update_settings(
      const RequestContext& context, const flyteidl2::settings::UpdateSettingsRequest& request);

 private:
  Sequencer& sequencer_;
  SettingsReader& reader_;
};

/// Serves the four methods. `service` must outlive the router.
void register_settings_service(Router& router, SettingsService& service);

}  // namespace writ
