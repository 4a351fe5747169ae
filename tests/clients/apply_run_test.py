#!/usr/bin/env python3
"""A full run and full tasks, built with Flyte's own messages, through ApplyRun.

    apply_run_test.py WRIT

What Writ does not know of them must come back as it was sent. The messages are those of the published package flyteidl2;
each field they have is filled in by reflection, so that new ones are covered when the pin moves.
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import runtimes
from flyte_cli_test import installed_flyte
from with_writ import WritServer

HERE = Path(__file__).resolve()


def fill(message, depth):
    """Sets every field there is, down to a depth; of a oneof the last that fits."""
    from google.protobuf.descriptor import FieldDescriptor as F
    for field in message.DESCRIPTOR.fields:
        if field.message_type is None:
            value = {F.CPPTYPE_STRING: f"text of {field.name}", F.CPPTYPE_BOOL: True}.get(field.cpp_type, 7)
            if field.type == F.TYPE_BYTES:
                value = b"bytes"
            if field.cpp_type == F.CPPTYPE_ENUM:
                value = field.enum_type.values[-1].number
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
        elif field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name["value"]
            values = getattr(message, field.name)
            if entry.message_type is None:
                values["key"] = f"value of {field.name}"
            elif depth:
                fill(values["key"], depth - 1)
        elif depth:
            child = getattr(message, field.name)
            fill(child.add() if field.is_repeated else child, depth - 1)
            if not field.is_repeated:
                child.SetInParent()


class ApplyRun(unittest.TestCase):
    writ = None

    def setUp(self):
        from flyteidl2.core import tasks_pb2
        from flyteidl2.task import run_pb2
        self.tasks_pb2, self.run_pb2 = tasks_pb2, run_pb2
        # Our own messages around theirs, by the schema that the server gives.
        self.request, self.response = self.own_messages()

    def own_messages(self):
        """ApplyRunRequest and ApplyRunResponse with theirs inside: the same numbers, over their descriptors."""
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        pool = descriptor_pool.Default()
        try:
            pool.FindMessageTypeByName("outer.Request")
        except KeyError:
            file = descriptor_pb2.FileDescriptorProto(
                name="outer.proto", package="outer", syntax="proto3",
                dependency=["flyteidl2/core/tasks.proto", "flyteidl2/task/run.proto",
                            "flyteidl2/settings/settings_definition.proto"])

            def add(message, name, number, kind, repeated=False):
                message.field.add(name=name, number=number, type=11, type_name=kind, label=3 if repeated else 1)
            import flyteidl2.settings.settings_definition_pb2  # noqa: F401 (into the pool)
            request = file.message_type.add(name="Request")
            add(request, "key", 1, ".flyteidl2.settings.SettingsKey")
            add(request, "run_spec", 2, ".flyteidl2.task.RunSpec")
            add(request, "tasks", 3, ".flyteidl2.core.TaskTemplate", True)
            response = file.message_type.add(name="Response")
            add(response, "run_spec", 1, ".flyteidl2.task.RunSpec")
            add(response, "tasks", 2, ".flyteidl2.core.TaskTemplate", True)
            pool.Add(file)
        return tuple(message_factory.GetMessageClass(pool.FindMessageTypeByName(f"outer.{name}"))
                     for name in ("Request", "Response"))

    def full_request(self):
        request = self.request()
        request.key.domain = "production"
        fill(request.run_spec, 6)
        for target in ("container", "k8s_pod"):
            task = request.tasks.add()
            fill(task, 6)
            task.ClearField("sql")
            getattr(task, target).SetInParent()
            fill(getattr(task, target), 5)
        container = request.tasks[0].container
        for lists in (container.resources, request.run_spec.default_settings.task_resource_defaults):
            for field in lists.DESCRIPTOR.fields:
                if field.is_repeated:
                    for entry in getattr(lists, field.name):
                        entry.name, entry.value = self.tasks_pb2.Resources.CPU, "1.50"
        pod = request.tasks[1].k8s_pod
        pod.primary_container_name = "main"
        pod.pod_spec.Clear()
        pod.pod_spec.update({"containers": [{"name": "side", "image": "s"},
                                            {"name": "main", "image": "m", "resources": {"limits": {"cpu": 1.5}}}],
                             "nodeSelector": {"a": "b"}, "priority": 3, "hostNetwork": False, "volumes": [None]})
        return request

    def call(self, method, request, response):
        import urllib.request
        call = urllib.request.Request(f"{self.writ.url}/{method}", request.SerializeToString(),
                                      {"Content-Type": "application/proto"})
        with urllib.request.urlopen(call, timeout=30) as answer:
            return response.FromString(answer.read())

    def apply(self, request):
        return self.call("writ.apply.v1.ApplyService/ApplyRun", request, self.response)

    def test_a_full_run_without_settings_comes_back_as_it_was_sent(self):
        request = self.full_request()
        self.assertGreater(len(request.SerializeToString()), 3000)
        answer = self.apply(request)
        self.assertEqual(answer.run_spec, request.run_spec)
        self.assertEqual(list(answer.tasks), list(request.tasks))

    def test_only_what_a_setting_touches_is_another(self):
        from flyteidl2.settings import settings_definition_pb2 as settings
        from flyteidl2.settings import settings_service_pb2 as service
        create = service.CreateSettingsRequest()
        create.key.domain = "capped"
        cpu = create.settings.task_resource.max.cpu
        cpu.state, cpu.quantity_value = settings.SETTING_STATE_VALUE, "1"
        self.call("flyteidl2.settings.SettingsService/CreateSettings", create, service.CreateSettingsResponse)
        request = self.full_request()
        request.key.domain = "capped"
        answer = self.apply(request)
        wanted = self.full_request()
        for entries in (wanted.tasks[0].container.resources.requests, wanted.tasks[0].container.resources.limits,
                        wanted.run_spec.default_settings.task_resource_defaults.requests,
                        wanted.run_spec.default_settings.task_resource_defaults.max):
            entries[0].value = "1"
        main = wanted.tasks[1].k8s_pod.pod_spec["containers"][1]
        main["resources"]["limits"]["cpu"] = "1"
        self.assertEqual(answer.run_spec, wanted.run_spec)
        self.assertEqual(list(answer.tasks), list(wanted.tasks))


def main():
    program = sys.argv.pop(1)
    if "WRIT_CLIENTS_VENV" not in os.environ:
        # Once more, by the Python that has the package.
        venv = installed_flyte()
        os.environ["WRIT_CLIENTS_VENV"] = str(venv)
        return subprocess.run([venv / "bin" / "python", HERE, program, *sys.argv[1:]], check=False).returncode
    runtimes.end_on_signals()
    with WritServer(program) as writ:
        ApplyRun.writ = writ
        return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
