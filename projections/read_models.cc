#include "projections/read_models.h"

#include "projections/settings.h"

namespace writ {

FoldedModel settings_model() {
  return {settings_projection(),
          settings_rows_sql(),
          "key",
          std::string(kSettingsStreamPrefix),
          {kSettingsCreated, kSettingsUpdated}};
}

std::vector<FoldedModel> read_models() { return {settings_model()}; }

}  // namespace writ
