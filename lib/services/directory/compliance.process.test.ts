/** The public compliance checks of SCIM 2.0 (the PyPI package scim2-tester), against a service. `npm run test:python` runs them. */
import { describe, expect, it } from "vitest";
import { runProgram } from "#support/commands";
import { listenFor } from "#support/listen";
import { isPythonWanted, requirePython } from "#support/python";
import { setupTestApp } from "#support/setup-app";

const program = `
import json, os
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server
key = {"Authorization": "Bearer " + os.environ["KEY"]}
results = check_server(SyncSCIMClient(Client(base_url=os.environ["BASE"], headers=key, timeout=60)))
print(json.dumps([[one.status.name, one.title, one.resource_type, one.reason] for one in results]))`;

describe.skipIf(!isPythonWanted)("SCIM 2.0 (run by npm run test:python)", () => {
  const { test } = setupTestApp();

  it("passes the checks of scim2-tester, but for searches of several kinds at once, which no directory asks for", async () => {
    const python = await requirePython("identity");
    const service = await listenFor(test);
    const { key } = await test.createKey("owner@example.com", ["scim"]);
    const env = { PATH: process.env["PATH"] ?? "", BASE: `${service.base}/scim/v2`, KEY: key };
    const { code, out } = await runProgram(python, ["-c", program], { env });
    await service.close();
    expect([code, out]).toEqual([0, expect.stringMatching(/^\[/)]);
    const results = JSON.parse(out) as [string, string, string | null, string][];
    expect(results.length).toBeGreaterThan(40);
    expect(results.filter(([status]) => status !== "SUCCESS")).toEqual(
      ["User", "Group"].map((kind) => ["ERROR", "search_with_attributes", kind, expect.any(String)]),
    );
  });
});
