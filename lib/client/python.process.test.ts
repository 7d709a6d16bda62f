/** clients/python: its own tests, which ask a real service, in an environment that pip makes of what is pinned. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { packagePath } from "#lib/services/attestations/receipt-files";
import { runProgram } from "#support/commands";
import {
  findPython,
  type PythonService,
  requirePython,
  runPytest,
  startPythonService,
} from "#support/python";

const python = await findPython("core");
if (python.missing) console.warn(`Skipped: the tests of clients/python. ${python.missing}`);

const program = `
import os, countersign_client
client = countersign_client.Countersign(os.environ["COUNTERSIGN_BASE_URL"], os.environ["COUNTERSIGN_API_KEY"])
print(client.attest({"agent_slug": "wheel", "action": "Rolled", "inputs_hash": "x"})["attestation_id"])
print(countersign_client.__file__)`;

describe.skipIf(python.missing)("the Python client (run by npm run test:python)", () => {
  let service: PythonService;
  let folder: string;
  beforeAll(async () => {
    service = await startPythonService();
    folder = await mkdtemp(path.join(tmpdir(), "countersign-wheel-"));
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  it.each(["test_client.py", "test_gate.py", "test_passkey.py"])("passes %s", async (file) => {
    await runPytest(python.path ?? "", file, service.env);
  });

  it("installs from the service, whose checksum pip compares, and verifies on the command line", async () => {
    const address = `${service.base}/${PYTHON_WHEEL}`;
    const served = await fetch(address);
    expect(served.headers.get("content-type")).toBe("application/zip");
    const [sha256 = "", name] = (await (await fetch(`${address}.sha256`)).text()).trim().split("  ");
    expect([served.headers.get("etag"), name]).toEqual([`"${sha256}"`, PYTHON_WHEEL]);
    const env = { ...service.env, PYTHONPATH: folder };
    const run = (...args: string[]) => runProgram(python.path ?? "", args, { cwd: folder, env });
    const withPip = await requirePython("uv");
    const install = (from: string) => {
      const pip = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", folder];
      return runProgram(withPip, [...pip, from], { cwd: folder, env });
    };
    expect(await install(`${address}#sha256=${"0".repeat(64)}`)).toMatchObject({ code: 1 });
    const kept = service.base + (await packagePath(PYTHON_WHEEL));
    expect(kept).toContain(`/packages/${sha256.slice(0, 16)}/`);
    expect(await install(`${kept}#sha256=${sha256}`)).toMatchObject({ code: 0 });
    const [id = "", file = ""] = (await run("-c", program)).out.trim().split("\n");
    expect(file.startsWith(folder)).toBe(true);
    const verify = (...args: string[]) => run("-m", "countersign_client", "verify", ...args);
    const receipt = `${service.base}/v1/verify/${id}`;
    expect(await verify(receipt)).toEqual({ code: 0, out: expect.stringContaining("NOT pinned") });
    expect(await verify(id, "--base", service.base)).toMatchObject({ code: 0 });
    const { log, keys } = (await (await fetch(`${service.base}/v1/pubkey`)).json()) as {
      log: { vkey: string };
      keys: { public_key: string }[];
    };
    const pinned = ["--key", keys[0]?.public_key ?? "", "--log-vkey", log.vkey];
    expect(await verify(receipt, ...pinned)).toEqual({
      code: 0,
      out: expect.not.stringContaining("NOT pinned"),
    });
    const foreign = ["--key", Buffer.alloc(32, 1).toString("base64"), "--log-vkey", log.vkey];
    expect((await verify(receipt, ...foreign)).code).not.toBe(0);
    expect(await verify("nothing", "--base", service.base)).toMatchObject({ code: 2 });
    expect(await verify("http://127.0.0.1:1/v1/verify/x")).toMatchObject({ code: 7 });
  });
});
