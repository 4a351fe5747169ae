#include "schema/apply/devices.h"

#include <algorithm>
#include <array>

#include "schema/protojson.h"
#include "schema/quote.h"

namespace writ {
namespace {

using flyteidl2::core::GPUAccelerator;

struct Device {
  std::string_view resource;
  std::optional<DeviceClass> device_class;
};

// The names that the vendors' device plugins register.
constexpr std::array<Device, 10> kDevices{{
    {"nvidia.com/gpu", GPUAccelerator::NVIDIA_GPU},
    {"nvidia.com/gpu.shared", GPUAccelerator::NVIDIA_GPU},
    {"google.com/tpu", GPUAccelerator::GOOGLE_TPU},
    {"aws.amazon.com/neuron", GPUAccelerator::AMAZON_NEURON},
    {"aws.amazon.com/neuroncore", GPUAccelerator::AMAZON_NEURON},
    {"aws.amazon.com/neurondevice", GPUAccelerator::AMAZON_NEURON},
    {"amd.com/gpu", GPUAccelerator::AMD_GPU},
    {"habana.ai/gaudi", GPUAccelerator::HABANA_GAUDI},
    {"gpu.intel.com/i915", std::nullopt},
    {"gpu.intel.com/xe", std::nullopt},
}};
constexpr std::string_view kNvidiaSlice = "nvidia.com/mig-";
constexpr int kModelsOfClass = 100;  // models are numbered by class in hundreds

int model_named(const std::string& device) {
  const auto& models = *flyteidl2::core::AcceleratorModel_descriptor();
  for (int i = 0; !device.empty() && i < models.value_count(); ++i)
    if (models.value(i)->options().GetExtension(flyteidl2::core::accelerator_name) == device)
      return models.value(i)->number();
  return flyteidl2::core::ACCELERATOR_MODEL_UNSPECIFIED;
}

}  // namespace

bool is_device(std::string_view resource_name) {
  return resource_name.starts_with(kNvidiaSlice) ||
         std::ranges::find(kDevices, resource_name, &Device::resource) != kDevices.end();
}

std::optional<DeviceClass> class_of_device(std::string_view resource_name) {
  if (resource_name.starts_with(kNvidiaSlice)) return GPUAccelerator::NVIDIA_GPU;
  const auto* const found = std::ranges::find(kDevices, resource_name, &Device::resource);
  return found == kDevices.end() ? std::nullopt : found->device_class;
}

DeviceClass class_of_accelerator(const GPUAccelerator& accelerator) {
  int model = accelerator.accelerator_model();
  if (model == 0) model = model_named(accelerator.device());
  if (model == 0) return accelerator.device_class();
  return static_cast<DeviceClass>(model / kModelsOfClass);
}

void apply_accelerator(const ResolvedSettings& resolved, const AskedDevices& asked,
                       const std::string& path, flyteidl2::core::TaskTemplate* task,
                       Explained* explained) {
  const auto& leaf = resolved.settings().task_resource().default_accelerator();
  const GPUAccelerator& setting = leaf.accelerator_value();
  if (leaf.state() != flyteidl2::settings::SETTING_STATE_VALUE || setting.ByteSizeLong() == 0)
    return;
  const GPUAccelerator& now = task->extended_resources().gpu_accelerator();
  const bool names_one = !now.device().empty() || now.accelerator_model() != 0;
  if (!asked.any || names_one) return;
  const std::string field = path + ".extended_resources.gpu_accelerator";
  if (now.ByteSizeLong() != 0) {
    explained->warnings.push_back(field +
                                  " says something but names no device, so "
                                  "task_resource.default_accelerator is not filled in");
    return;
  }
  const auto is_of_class = [&](const std::string& name) {
    return class_of_device(name) == class_of_accelerator(setting);
  };
  if (!asked.names.empty() && std::ranges::none_of(asked.names, is_of_class)) {
    explained->warnings.push_back(path + " asks for " + quote(asked.names.front()) +
                                  ", which task_resource.default_accelerator " +
                                  quote(setting.device()) + " is not, so it is not filled in");
    return;
  }
  *task->mutable_extended_resources()->mutable_gpu_accelerator() = setting;
  explained->changed(apply::v1::ACTION_FILLED, field, nullptr, write_json(setting),
                     {"task_resource.default_accelerator", leaf.scope_level()});
}

}  // namespace writ
