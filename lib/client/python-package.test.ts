/** The wheel, and the files in it that are made of the service's own contract. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { pythonFiles, writePythonReasons, writePythonTypes } from "#ci/python-types";
import { makeWheel } from "#ci/python-wheel";
import { buildOpenApi } from "#lib/api/openapi";
import { packReasons } from "#lib/protocol/pack/pack-reasons";
import { PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { reasons } from "#lib/protocol/statement/reasons";

const remedy = "run: node .ci/python-types.mjs";

it("has the types of the OpenAPI document", () => {
  const made = writePythonTypes(buildOpenApi("http://localhost:3000"));
  expect(readFileSync(pythonFiles.types, "utf8"), remedy).toBe(made);
  expect(made).toContain(
    "class AuthorizeRequestRequired(TypedDict):\n    agent_slug: str\n    action: str\n",
  );
});

it("gives a field that is called like a keyword of Python no class, which Python couldn't read", () => {
  const schema = { type: "object", properties: { from: { type: "string" } }, required: ["from"] };
  const made = writePythonTypes({ components: { schemas: { Deputy: schema } } });
  expect(made).toContain('Deputy = TypedDict(\n    "Deputy",\n    {\n        "from": "str",\n    },\n)');
});

it("has the words of the verifier's reasons", () => {
  expect(readFileSync(pythonFiles.reasons, "utf8"), remedy).toBe(
    writePythonReasons({ ...reasons, ...packReasons }),
  );
});

it("brings one module, which no other package has", () => {
  const { name, bytes } = makeWheel(".");
  expect(name).toMatch(/^countersign_client-/);
  const text = bytes.toString("latin1");
  const listed = text.matchAll(/^([\w.-]+)\/\S*,(?:sha256=\S+,\d+|,)$/gm);
  const folders = new Set([...listed].map(([, folder]) => folder));
  expect([...folders]).toEqual(["countersign_client", name.replace("-py3-none-any.whl", ".dist-info")]);
  expect(text).toContain("\nName: countersign-client\n");
});

it("is the same bytes wherever and whenever it is built", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-wheel-"));
  const [first, second] = ["first", "second"].map((name, at) => {
    const copy = path.join(folder, name);
    mkdirSync(path.join(copy, "clients"), { recursive: true });
    cpSync("LICENSE", path.join(copy, "LICENSE"));
    cpSync("clients/python", path.join(copy, "clients/python"), { recursive: true });
    for (const file of readdirSync(path.join(copy, "clients/python/countersign_client"), {
      encoding: "utf8",
    }))
      utimesSync(path.join(copy, "clients/python/countersign_client", file), at * 86_400, at * 86_400);
    return makeWheel(copy);
  });
  rmSync(folder, { recursive: true });
  const third = makeWheel(".");
  // An expectation compares such an array byte by byte, for seconds.
  for (const made of [first, second]) expect(made?.bytes.equals(third.bytes)).toBe(true);
  for (const made of [first, second, third]) expect(made?.name).toBe(PYTHON_WHEEL);
});
