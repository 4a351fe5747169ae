#include "service/method_access.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/validate.h"
#include "service/settings_requests.h"

namespace writ {
namespace {

using Where = MethodAccess::Where;
using flyteidl2::settings::SettingsKey;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::array kAccess = {
    MethodAccess{"flyteidl2.settings.SettingsService.GetSettings", Role::kViewer, "key"},
    MethodAccess{"flyteidl2.settings.SettingsService.GetSettingsForEdit", Role::kViewer, "key"},
    MethodAccess{"flyteidl2.settings.SettingsService.CreateSettings", Role::kEditor, "key"},
    MethodAccess{"flyteidl2.settings.SettingsService.UpdateSettings", Role::kEditor, "key"},
    MethodAccess{"writ.apply.v1.ApplyService.ApplyRun", Role::kViewer, "key"},
    MethodAccess{"writ.audit.v1.AuditService.ListChanges", Role::kAuditor, "filter.key"},
    MethodAccess{"writ.audit.v1.AuditService.GetSettingsAt", Role::kAuditor, "key"},
    MethodAccess{"writ.audit.v1.AuditService.Blame", Role::kAuditor, "key"},
    MethodAccess{"writ.audit.v1.AuditService.Diff", Role::kAuditor, "key"},
    MethodAccess{"writ.audit.v1.AuditService.Revert", Role::kEditor, "key"},
    MethodAccess{"writ.audit.v1.AuditService.WatchChanges", Role::kAuditor, "filter.key"},
    MethodAccess{"writ.audit.v1.AuditService.GetEvent", Role::kAuditor, "", Where::kHandler},
    MethodAccess{"writ.audit.v1.AuditService.GetHead", Role::kAuditor, "", Where::kAnywhere},
    MethodAccess{"writ.audit.v1.AuditService.GetCheckpoint", Role::kAuditor, "", Where::kAnywhere},
    MethodAccess{"writ.audit.v1.AuditService.GetInclusionProof", Role::kAuditor, "",
                 Where::kAnywhere},
    MethodAccess{"writ.audit.v1.AuditService.GetConsistencyProof", Role::kAuditor, "",
                 Where::kAnywhere},
    MethodAccess{"writ.admin.v1.AdminService.Rebuild", Role::kAdmin, "", Where::kEverywhere},
    MethodAccess{"writ.admin.v1.AdminService.Verify", Role::kAdmin, "", Where::kEverywhere},
    MethodAccess{"writ.admin.v1.AdminService.Export", Role::kAdmin, "", Where::kEverywhere},
    MethodAccess{"writ.admin.v1.AdminService.Erase", Role::kAdmin, "", Where::kEverywhere},
};

using FieldPath = std::vector<const FieldDescriptor*>;

FieldPath field_path(const google::protobuf::Descriptor& request, std::string_view path) {
  FieldPath fields;
  const google::protobuf::Descriptor* message = &request;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const FieldDescriptor* const field =
        message == nullptr ? nullptr : message->FindFieldByName(std::string(path.substr(0, dot)));
    if (field == nullptr)
      throw std::logic_error(request.full_name() + " has no field " + std::string(path));
    fields.push_back(field);
    message = field->message_type();
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  if (message != SettingsKey::descriptor())
    throw std::logic_error("the key of " + request.full_name() + " is no SettingsKey");
  return fields;
}

/// The key of a request; null when it is absent.
const SettingsKey* find_key(const Message& request, const FieldPath& path) {
  const Message* message = &request;
  for (const FieldDescriptor* field : path) {
    const auto* reflection = message->GetReflection();
    if (!reflection->HasField(*message, field)) return nullptr;
    message = &reflection->GetMessage(*message, field);
  }
  return static_cast<const SettingsKey*>(message);
}

[[noreturn]] void deny(const Caller& caller, Role role, const std::string& where) {
  std::string held = caller.scopes.empty() ? "no role" : std::string(role_name(caller.role));
  for (std::size_t i = 0; i < caller.scopes.size(); ++i) {
    held += i == 0 ? " on " : ", ";
    held += caller.scopes[i].text();
  }
  std::string text = "this needs the role ";
  text += role_name(role);
  text += " on " + where + "; " + caller.name + " has " + held;
  throw ConnectError(Code::kPermissionDenied, text);
}

}  // namespace

std::span<const MethodAccess> method_access() { return kAccess; }

void require_role(const RequestContext& context, Role role, const ScopeKey& key) {
  if (!context.caller.may(role, key)) deny(context.caller, role, scope_text(key));
}

void require_role_everywhere(const std::function<Caller(const HttpRequest&)>& identify,
                             const HttpRequest& request, Role role) {
  const Caller caller = identify(request);
  if (!caller.may(role, {})) deny(caller, role, "*");
}

AccessCheck access_to(const google::protobuf::MethodDescriptor& method) {
  const auto found = std::find_if(kAccess.begin(), kAccess.end(), [&](const MethodAccess& one) {
    return one.method == method.full_name();
  });
  if (found == kAccess.end())
    throw std::logic_error("nobody says who may call " + method.full_name());
  const Role role = found->role;
  switch (found->where) {
    case Where::kHandler:
    case Where::kAnywhere:
      return [role](const RequestContext& context, const Message&) {
        if (context.caller.role < role || context.caller.scopes.empty())
          deny(context.caller, role, "any scope");
      };
    case Where::kEverywhere:
      return [role](const RequestContext& context, const Message&) {
        require_role(context, role, {});
      };
    case Where::kKey:
      break;
  }
  return [role, path = field_path(*method.input_type(), found->key)](const RequestContext& context,
                                                                     const Message& request) {
    // Whoever may everything is told by the handler what is wrong with the key, and the rest.
    if (context.caller.may(role, {})) return;
    const SettingsKey* const key = find_key(request, path);
    if (key == nullptr) require_role(context, role, {});
    refuse(validate_key(key));
    require_role(context, role, scope_key(*key));
  };
}

}  // namespace writ
