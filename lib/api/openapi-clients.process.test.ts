/**
 * Clients that other people's generators make of the OpenAPI document without an edit: each compiles, and attests with three
 * fields. `npm run test:generators` runs them, with pinned generators that it installs under node_modules/.cache.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "#support/app";
import { expectExit, runProgram } from "#support/commands";
import { type Listening, listenFor } from "#support/listen";
import { buildOpenApi } from "./openapi";

const isWanted = process.env["TEST_GENERATORS"] === "all";
const cache = path.resolve("node_modules/.cache/countersign-generators");
const outside = process.env;

/** Pinned versions, keyed by installer. */
const pins = {
  npm: [
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "@hey-api/openapi-ts@0.99.0",
    "typescript@5.9.3",
  ],
  pip: [
    ...["openapi-python-client==0.29.1", "openapi-generator-cli==7.26.0", "annotated-types==0.8.0"],
    ...["anyio==4.16.0", "attrs==26.1.0", "certifi==2026.10.19.post1", "h11==0.16.0", "httpcore==1.0.9"],
    ...["httpx==0.28.1", "idna==3.20", "Jinja2==3.1.6", "markdown-it-py==4.3.0", "MarkupSafe==3.0.4"],
    ...["mdurl==0.1.2", "pydantic==2.14.4", "pydantic_core==2.50.5", "Pygments==2.21.0", "rich==15.0.0"],
    ...["ruamel.yaml==0.19.1", "ruff==0.17.6", "shellingham==1.5.4", "typer==0.27.3", "urllib3==2.7.0"],
    ...[
      "typing-inspection==0.4.5",
      "typing_extensions==4.16.0",
      "python-dateutil==2.9.0.post0",
      "six==1.17.0",
    ],
    "annotated-doc==0.0.7",
  ],
  go: ["github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"],
};
type Installer = keyof typeof pins;

const installers: Record<Installer, (folder: string) => [string, string[], object?][]> = {
  npm: (folder) => [
    ["npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, ...pins.npm]],
  ],
  pip: (folder) => [
    ["python3", ["-m", "venv", folder]],
    [path.join(folder, "bin/python"), ["-m", "pip", "install", "-q", "--no-deps", ...pins.pip]],
  ],
  go: (folder) => [["go", ["install", ...pins.go], { GOBIN: path.join(folder, "bin") }]],
};

/** The folder of the pinned tools, made once; or why there is none. */
async function findTools(installer: Installer): Promise<{ folder: string } | { missing: string }> {
  if (!isWanted) return { missing: "npm run test:generators runs them" };
  const hash = createHash("sha256").update(pins[installer].join()).digest("hex").slice(0, 16);
  const folder = path.join(cache, `${installer}-${hash}`);
  const complete = path.join(folder, "complete");
  if (existsSync(complete)) return { folder };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [program, args, more] of installers[installer](folder)) {
    const ran = await runProgram(program, args, { env: { ...outside, ...more } }).catch((error: Error) => ({
      code: null,
      out: error.message,
    }));
    if (ran.code !== 0) return { missing: `${program} could not install its tools: ${ran.out.slice(-500)}` };
  }
  await writeFile(complete, "");
  return { folder };
}

const body = `{ agent_slug: "generated", action: "Paid", inputs_hash: "sha256:abc" }`;

const fetchProgram = `
import createClient from "openapi-fetch";
import type { paths } from "./schema";

const { COUNTERSIGN_BASE_URL: baseUrl, COUNTERSIGN_API_KEY: key } = process.env;
const client = createClient<paths>({ baseUrl: String(baseUrl), headers: { authorization: \`Bearer \${key}\` } });
const { data, error } = await client.POST("/v1/attest", { body: ${body} });
if (data === undefined) throw new Error(JSON.stringify(error));
const id: string = data.attestation_id;
console.log(id);
`;

const heyProgram = `
import { attest } from "./hey";
import { client } from "./hey/client.gen";

client.setConfig({ baseUrl: String(process.env["COUNTERSIGN_BASE_URL"]), auth: () => process.env["COUNTERSIGN_API_KEY"] });
const { data, error } = await attest({ body: ${body} });
if (data === undefined) throw new Error(JSON.stringify(error));
const id: string = data.attestation_id;
console.log(id);
`;

const pythonClientProgram = `
import os
from made import AuthenticatedClient
from made.api.attestations import attest
from made.models import AttestRequest, Attestation

client = AuthenticatedClient(base_url=os.environ["COUNTERSIGN_BASE_URL"], token=os.environ["COUNTERSIGN_API_KEY"])
made = attest.sync(client=client, body=AttestRequest(agent_slug="generated", action="Paid", inputs_hash="sha256:abc"))
assert isinstance(made, Attestation), made
print(made.attestation_id)
`;

const pythonGeneratorProgram = `
import os
import openapi_client as made

settings = made.Configuration(host=os.environ["COUNTERSIGN_BASE_URL"], access_token=os.environ["COUNTERSIGN_API_KEY"])
with made.ApiClient(settings) as client:
    body = made.AttestRequest(agent_slug="generated", action="Paid", inputs_hash="sha256:abc")
    print(made.AttestationsApi(client).attest(body).attestation_id)
`;

const javaProgram = `
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AttestationsApi;
import org.openapitools.client.model.AttestRequest;

public class Attest {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("COUNTERSIGN_BASE_URL"));
    String key = System.getenv("COUNTERSIGN_API_KEY");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    AttestRequest body = new AttestRequest().agentSlug("generated").action("Paid").inputsHash("sha256:abc");
    System.out.println(new AttestationsApi(client).attest(body, null).getAttestationId());
  }
}
`;

const goProgram = `
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.test/attest/made"
)

func main() {
	key := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("COUNTERSIGN_API_KEY"))
		return nil
	}
	client, err := made.NewClientWithResponses(os.Getenv("COUNTERSIGN_BASE_URL"), made.WithRequestEditorFn(key))
	if err != nil {
		panic(err)
	}
	body := made.AttestRequest{AgentSlug: "generated", Action: "Paid", InputsHash: "sha256:abc"}
	answer, err := client.AttestWithResponse(context.Background(), nil, body)
	if err != nil {
		panic(err)
	}
	if answer.JSON201 == nil {
		panic(string(answer.Body))
	}
	fmt.Println(answer.JSON201.AttestationId)
}
`;

const npm = await findTools("npm");
const pip = await findTools("pip");
const go = await findTools("go");
const runs = async (program: string) =>
  isWanted && (await runProgram(program, ["-version"], { env: outside }).catch(() => null))?.code === 0;
const hasJava = await runs("java");
const hasMaven = hasJava && (await runs("mvn"));

const missing = (tools: { folder: string } | { missing: string }) => "missing" in tools;
const toolsIn = (tools: { folder: string } | { missing: string }) => ("folder" in tools ? tools.folder : "");

for (const [name, tools] of Object.entries({ npm, pip, go }))
  if ("missing" in tools) console.warn(`Skipped: clients of generators from ${name}. ${tools.missing}`);
if (isWanted && !hasJava) console.warn("Skipped: the clients of openapi-generator. There is no Java.");
else if (isWanted && !hasMaven)
  console.warn("Skipped: openapi-generator's client in Java. There is no Maven.");

describe.skipIf(!isWanted)(
  "clients made of the OpenAPI document attest with three fields",
  { timeout: 600_000 },
  () => {
    let test: TestApp;
    let server: Listening;
    let folder: string;
    let env: Record<string, string | undefined>;
    const inFolder = (name: string) => path.join(folder, name);
    const run = async (program: string, args: string[], cwd = folder) => {
      const ran = await runProgram(program, args, { cwd, env });
      expectExit(ran, 0);
      return ran.out;
    };
    /** The program prints the id of a public attestation of the service. */
    const expectAttested = async (out: string) => {
      const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(out)?.[0];
      const { status, body: receipt } = await test.call("GET", `/v1/verify/${id}`);
      expect([status, receipt.agent_slug, receipt.valid]).toEqual([200, "generated", true]);
    };

    beforeAll(async () => {
      test = await startTestApp();
      server = await listenFor(test);
      const { key } = await test.createKey();
      folder = await mkdtemp(path.join(tmpdir(), "countersign-generators-"));
      env = { ...outside, COUNTERSIGN_BASE_URL: server.base, COUNTERSIGN_API_KEY: key };
      await writeFile(inFolder("openapi.json"), JSON.stringify(buildOpenApi(server.base)));
      if ("folder" in npm) await symlink(path.join(npm.folder, "node_modules"), inFolder("node_modules"));
    });
    afterAll(async () => {
      await server.close();
      await test.close();
      await rm(folder, { recursive: true, force: true });
    });

    async function runTypeScript(name: string, program: string): Promise<string> {
      const compilerOptions = {
        strict: true,
        noEmit: true,
        target: "es2022",
        lib: ["es2022", "dom", "dom.iterable"],
        module: "esnext",
        moduleResolution: "bundler",
        types: [],
      };
      const files = ["node.d.ts", `${name}.ts`];
      await writeFile(
        inFolder("node.d.ts"),
        "declare const process: { env: Record<string, string | undefined> };",
      );
      await writeFile(inFolder(`${name}.ts`), program);
      await writeFile(inFolder("tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      await run(process.execPath, [inFolder("node_modules/typescript/bin/tsc"), "-p", "."]);
      const outfile = inFolder(`${name}.mjs`);
      await build({
        entryPoints: [inFolder(`${name}.ts`)],
        bundle: true,
        format: "esm",
        platform: "node",
        outfile,
      });
      return run(process.execPath, [outfile]);
    }

    it.skipIf(missing(npm))("openapi-typescript", async () => {
      const tool = path.join(toolsIn(npm), "node_modules/.bin/openapi-typescript");
      await run(tool, ["openapi.json", "--output", "schema.d.ts"]);
      await expectAttested(await runTypeScript("fetch", fetchProgram));
    });

    it.skipIf(missing(npm))("hey-api", async () => {
      const tool = path.join(toolsIn(npm), "node_modules/.bin/openapi-ts");
      await run(tool, ["--input", "openapi.json", "--output", "hey"]);
      await expectAttested(await runTypeScript("hey-program", heyProgram));
    });

    it.skipIf(missing(pip))("openapi-python-client, which leaves out no JSON operation", async () => {
      const bin = path.join(toolsIn(pip), "bin");
      const made = await run(path.join(bin, "openapi-python-client"), [
        ...["generate", "--path", "openapi.json", "--output-path", "made", "--meta", "none"],
      ]);
      expect(made).not.toContain("Unable to parse");
      expect(made).not.toContain("Endpoint will not be generated");
      await writeFile(inFolder("attest.py"), pythonClientProgram);
      await run(path.join(bin, "python"), ["-m", "compileall", "-q", "made"]);
      await expectAttested(await run(path.join(bin, "python"), ["attest.py"]));
    });

    it.skipIf(missing(pip) || !hasJava)("openapi-generator, in Python", async () => {
      const bin = path.join(toolsIn(pip), "bin");
      const inPython = await mkdtemp(inFolder("generator-"));
      await run(path.join(bin, "openapi-generator-cli"), [
        ...["generate", "-g", "python", "-i", "openapi.json", "-o", inPython],
      ]);
      await writeFile(path.join(inPython, "attest.py"), pythonGeneratorProgram);
      await run(path.join(bin, "python"), ["-m", "compileall", "-q", "openapi_client"], inPython);
      await expectAttested(await run(path.join(bin, "python"), ["attest.py"], inPython));
    });

    it.skipIf(missing(pip) || !hasMaven)("openapi-generator, in Java", async () => {
      const inJava = await mkdtemp(inFolder("java-"));
      await run(path.join(toolsIn(pip), "bin/openapi-generator-cli"), [
        ...["generate", "-g", "java", "--library", "native", "-i", "openapi.json", "-o", inJava],
      ]);
      await writeFile(path.join(inJava, "src/main/java/Attest.java"), javaProgram);
      await run("mvn", ["-q", "compile"], inJava);
      const start = ["org.codehaus.mojo:exec-maven-plugin:3.5.0:java", "-Dexec.mainClass=Attest"];
      await expectAttested(await run("mvn", ["-q", ...start], inJava));
    });

    it.skipIf(missing(go))("oapi-codegen", async () => {
      const inGo = await mkdtemp(inFolder("go-"));
      await mkdir(path.join(inGo, "made"));
      const tool = path.join(toolsIn(go), "bin/oapi-codegen");
      const made = path.join(inGo, "made/made.go");
      await run(tool, ["-generate", "types,client", "-package", "made", "-o", made, "openapi.json"]);
      await writeFile(path.join(inGo, "main.go"), goProgram);
      await run("go", ["mod", "init", "example.test/attest"], inGo);
      await run("go", ["get", "github.com/oapi-codegen/runtime@v1.9.0"], inGo);
      await run("go", ["mod", "tidy"], inGo);
      await run("go", ["vet", "./made"], inGo);
      await expectAttested(await run("go", ["run", "."], inGo));
    });
  },
);
