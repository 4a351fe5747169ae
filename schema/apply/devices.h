#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flyteidl2/core/tasks.pb.h"
#include "schema/apply/explained.h"

namespace writ {

using DeviceClass = flyteidl2::core::GPUAccelerator::DeviceClass;

/// Whether a pod's resource of this name is an accelerator, e.g. `nvidia.com/gpu`, a slice of one
/// (`nvidia.com/mig-1g.5gb`), or one of another vendor.
bool is_device(std::string_view resource_name);

/// The class of accelerators that go by this resource name, nothing when no class is.
std::optional<DeviceClass> class_of_device(std::string_view resource_name);

/// The class of an accelerator: that of its model, or of the model that its device names, or what
/// it says.
DeviceClass class_of_accelerator(const flyteidl2::core::GPUAccelerator& accelerator);

/// What a task asks for.
struct AskedDevices {
  bool any = false;
  std::vector<std::string> names;  ///< Of resources, where the task tells; a container does not.
};

/// Fills the task's accelerator, whole, when it asks for a device and says nothing about which. A
/// pod that asks for another class of devices than the setting's is left alone, with a warning.
void apply_accelerator(const ResolvedSettings& resolved, const AskedDevices& asked,
                       const std::string& path, flyteidl2::core::TaskTemplate* task,
                       Explained* explained);

}  // namespace writ
