// Run by connect_node_test.py, which generates the code that this imports, and says in WRIT_SERVERS where there is, for
// each transport, a server that starts empty: its address and its database.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { create, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { BadRequestSchema } from "./generated/google/rpc/error_details_pb.js";
import {
  CreateSettingsRequestSchema, SettingsService,
} from "./generated/flyteidl2/settings/settings_service_pb.js";
import { SettingState } from "./generated/flyteidl2/settings/settings_definition_pb.js";
import { VersionConflictSchema } from "./generated/writ/settings/v1/errors_pb.js";
import { SettingsService as NewerService } from "./newer/flyteidl2/settings/settings_service_pb.js";
import { lockSettings } from "./database.mjs";
import { transports } from "./transports.mjs";
import { relayTo } from "./wire.mjs";

const servers = JSON.parse(process.env.WRIT_SERVERS);
const flow = readdirSync(process.env.WRIT_FLOW).sort()
  .map((name) => ({ name, ...JSON.parse(readFileSync(`${process.env.WRIT_FLOW}/${name}`, "utf8")) }));
const value = SettingState.VALUE;

assert.equal(flow.length, 8);
assert.equal(servers.length, transports.length);

async function failure(call) {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new assert.AssertionError({ message: "the call went well" });
}

transports.forEach((transport, index) => describe(transport.name, () => {
  const { url, database } = servers[index];
  let relay, client, newer;
  before(async () => {
    relay = await relayTo(url);
    client = createClient(SettingsService, transport.make(relay.url));
    newer = createClient(NewerService, transport.make(relay.url));
  });
  after(() => relay.close());

  const isRead = (method) => method.startsWith("Get");

  it("holds the customer flow", async () => {
    for (const step of flow) {
      const method = SettingsService.methods.find(({ name }) => name === step.method);
      relay.forget();
      const answer = await client[method.localName](fromJson(method.input, step.request));
      assert.deepEqual(toJson(method.output, answer), step.response, step.name);

      const sent = relay.sent();
      const expected = transport.get && isRead(step.method) ? "GET" : "POST";
      assert.ok(sent.startsWith(`${expected} /flyteidl2.settings.SettingsService/${step.method}`), sent);
      assert.equal(relay.received().match(/^content-type: (.*)\r$/im)[1], transport.contentType);
      if (expected === "POST") assert.equal(sent.match(/^content-type: (.*)\r$/im)[1], transport.contentType);
      else assert.match(sent.slice(0, sent.indexOf("\r")), /[?&]connect=v1(&|\b)/);
      const encoding = expected === "GET" ? /[?&]compression=gzip\b/ : /^(content|grpc)-encoding: gzip\r$/im;
      assert.equal(encoding.test(sent), transport.gzip, sent);
    }
  });

  it("gets the winner of a version conflict as a typed detail", async () => {
    const error = await failure(client.updateSettings(
      { key: { org: "acme", domain: "production", project: "analytics" }, settings: {}, version: 1n }));
    assert.equal(error.code, Code.FailedPrecondition);
    assert.equal(error.rawMessage, "settings version conflict: v1::production:analytics");
    const [conflict, ...others] = error.findDetails(VersionConflictSchema);
    assert.deepEqual(others, []);
    assert.equal(conflict.currentVersion, 2n);
    assert.equal(conflict.actor, "anonymous");
    // The third event of the flow.
    assert.equal(conflict.position, 3n);
    assert.ok(Math.abs(Date.now() - timestampDate(conflict.time)) < 600_000);
    assert.match(error.metadata.get("x-request-id"), /./);
  });

  it("gets every broken rule as a typed detail", async () => {
    const quantity = (quantityValue) => ({ state: value, quantityValue });
    const error = await failure(client.createSettings({
      key: { org: "acme", domain: "rules" },
      settings: { taskResource: { min: { cpu: quantity("1e"), gpu: quantity("-1") } } },
    }));
    assert.equal(error.code, Code.InvalidArgument);
    assert.equal(error.rawMessage, "invalid task_resource.min.cpu \"1e\": unable to parse quantity's suffix");
    const [broken] = error.findDetails(BadRequestSchema);
    assert.deepEqual(broken.fieldViolations.map(({ field }) => field),
      ["task_resource.min.cpu", "task_resource.min.gpu"]);
    assert.equal(broken.fieldViolations[0].description, error.rawMessage);
  });

  it("gets the code and the words of each refusal", async () => {
    const key = { org: "acme", domain: "production" };
    const refusals = [
      [() => client.createSettings({ key, settings: {} }), Code.AlreadyExists,
        "settings already exists: v1::production:"],
      [() => client.updateSettings({ key: { domain: "none" }, settings: {}, version: 1n }), Code.NotFound,
        "settings not found: v1::none:"],
      [() => client.getSettings({}), Code.InvalidArgument, "key is required"],
      [() => client.getSettingsForEdit({ key: { project: "analytics" } }), Code.InvalidArgument,
        "a project-scope key requires a domain"],
      [() => newer.deleteSettings({ key }), Code.Unimplemented, "the service has no such method"],
    ];
    for (const [call, code, words] of refusals) {
      const error = await failure(call());
      assert.equal(Code[error.code], Code[code], error.message);
      assert.equal(error.rawMessage, words);
    }
  });

  it("may be newer than the server: what that does not know is left out, and named, in binary by its number",
    async () => {
      let warning;
      const answer = await newer.createSettings({
        key: { org: "acme", domain: "newer" },
        settings: {
          run: { defaultQueue: { state: value, stringValue: "fast" }, next: { state: value, stringValue: "x" } },
        },
      }, { onHeader: (header) => { warning = header.get("warning"); } });
      assert.equal(answer.settingsRecord.settings.run.defaultQueue.stringValue, "fast");
      assert.equal(answer.settingsRecord.settings.run.next, undefined);
      assert.equal(warning, `299 writ "unknown fields ignored: settings.run.${transport.json ? "next" : "999"}"`);
    });

  it("compresses what is large", async () => {
    const entries = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`NAME_${n}`, `the value of ${n}`]));
    const request = create(CreateSettingsRequestSchema, {
      key: { org: "acme", domain: "large" },
      settings: { environmentVariables: { state: value, mapValue: { entries } } },
    });
    const plain = transport.json ? JSON.stringify(toJson(CreateSettingsRequestSchema, request)).length
      : toBinary(CreateSettingsRequestSchema, request).length;
    relay.forget();
    const answer = await client.createSettings(request);
    assert.deepEqual(answer.settingsRecord.settings.environmentVariables.mapValue.entries, entries);
    assert.equal(relay.sent().length < plain / 2, transport.gzip, `${relay.sent().length} of ${plain} bytes`);
    assert.equal(relay.received().length < plain / 2, transport.gzipAnswers,
      `${relay.received().length} of ${plain} bytes`);
  });

  it("may set a deadline, which the server keeps too", async () => {
    const key = { org: "acme" };
    const unlock = await lockSettings(database);
    try {
      relay.forget();
      const ours = await failure(client.getSettings({ key }, { timeoutMs: 300 }));
      assert.equal(ours.code, Code.DeadlineExceeded);
      assert.match(relay.sent(), transport.grpcWeb ? /^grpc-timeout: 300m\r$/im : /^connect-timeout-ms: 300\r$/im);

      // Without a clock of the client's own, so that it is the server that answers.
      const header = transport.grpcWeb ? { "Grpc-Timeout": "300m" } : { "Connect-Timeout-Ms": "300" };
      const theirs = await failure(client.getSettings({ key }, { headers: header }));
      assert.equal(theirs.code, Code.DeadlineExceeded, theirs.message);
      assert.equal(theirs.rawMessage, "the database did not answer in time");
    } finally {
      await unlock();
    }
    const answer = await client.getSettings({ key }, { timeoutMs: 30_000 });
    assert.equal(answer.settingsRecord.settings.run.defaultQueue.stringValue, "default");
  });
}));
