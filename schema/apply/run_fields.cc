#include "schema/apply/run_fields.h"

namespace writ {

void apply_run_fields(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                      Explained* explained) {
  const flyteidl2::settings::Settings& settings = resolved.settings();
  const auto& queue = settings.run().default_queue();
  if (const std::string* value = text_value(queue); value && run->queue().empty())
    explained->fill_text(*value, {"run.default_queue", queue.scope_level()}, "run_spec.queue",
                         run->mutable_queue());

  const auto& raw_data = settings.storage().raw_data_path();
  if (const std::string* value = text_value(raw_data);
      value && run->raw_data_storage().raw_data_prefix().empty())
    explained->fill_text(*value, {"storage.raw_data_path", raw_data.scope_level()},
                         "run_spec.raw_data_storage.raw_data_prefix",
                         run->mutable_raw_data_storage()->mutable_raw_data_prefix());

  const auto& account = settings.security().service_account();
  if (const std::string* value = text_value(account);
      value && run->security_context().run_as().k8s_service_account().empty())
    explained->fill_text(
        *value, {"security.service_account", account.scope_level()},
        "run_spec.security_context.run_as.k8s_service_account",
        run->mutable_security_context()->mutable_run_as()->mutable_k8s_service_account());

  const auto& concurrency = settings.run().max_action_concurrency();
  // 0 is unlimited in the setting and in the run, so there is nothing to fill in.
  if (concurrency.state() == flyteidl2::settings::SETTING_STATE_VALUE &&
      concurrency.int_value() != 0 && run->max_action_concurrency() == 0) {
    run->set_max_action_concurrency(static_cast<std::uint32_t>(concurrency.int_value()));
    explained->changed(apply::v1::ACTION_FILLED, "run_spec.max_action_concurrency", nullptr,
                       std::to_string(run->max_action_concurrency()),
                       {"run.max_action_concurrency", concurrency.scope_level()});
  }

  const auto& base = settings.run().run_base_dir();
  if (const std::string* value = text_value(base); value && run->run_base_dir().empty())
    explained->fill_text(*value, {"run.run_base_dir", base.scope_level()}, "run_spec.run_base_dir",
                         run->mutable_run_base_dir());
}

}  // namespace writ
