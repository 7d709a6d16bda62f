/**
 * Other people's tools over real output of the service, each a line of one table that the guide prints: `npm run test:tools`
 * runs them, pinned, and installs them under node_modules/.cache.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import * as cedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { approvalChallenge, toRelyingParty } from "#lib/protocol/passkey/assertion";
import { cedarCall } from "#lib/protocol/policy/rule-context";
import { encodeTimeStampRequest } from "#lib/protocol/time/time-stamp";
import { encodeTilePath } from "#lib/protocol/tlog/tiles";
import { ask } from "#support/authorizations";
import { runProgram } from "#support/commands";
import { makeEnrolledAuthorization } from "#support/enrolled-approvals";
import { type Installed, installTools } from "#support/installed-tools";
import { type Listening, listenFor } from "#support/listen";
import { makeReceiptSamples } from "#support/receipt-samples";
import { setupTestApp } from "#support/setup-app";
import { makeAuthority } from "#support/tsa";

const guideFile = "components/guides/content/own-tool.md";
const isWanted = process.env["TEST_TOOLS"] === "all";

interface Tools extends Installed {
  run(folder: string, samples: string): [program: string, args: string[]];
  /** Answer of each tool: `ok`, or the beginning of why it can't. */
  says: Record<string, string>;
}

const pip = [
  ...["securesystemslib==1.6.0", "in-toto-attestation==0.9.3", "jcs==0.2.1", "rfc8785==0.1.4"],
  ...["webauthn==3.0.1", "fido2==2.2.1", "cedarpy==4.12.2", "PyJWT==2.15.1", "python-jose==3.5.0"],
  ...["cryptography==50.0.2", "agent-evidence-vectors==0.27.0"],
];
const npm = ["jose@6.2.18", "canonicalize@5.1.0", "json-canonicalize@3.0.1", "@truestamp/canonify@2.1.0"];
/** RFC 8785 has it, as a number in floating point. */
const large = "not 9007199254740992";

const tools: Record<string, Tools> = {
  python: {
    files: ["check.py"],
    install: (folder) => [
      ["python3", ["-m", "venv", path.join(folder, "venv")]],
      [path.join(folder, "venv/bin/python"), ["-m", "pip", "install", "-q", ...pip]],
    ],
    run: (folder, samples) => [
      path.join(folder, "venv/bin/python"),
      [path.join(folder, "check.py"), samples],
    ],
    says: {
      "securesystemslib 1.6.0": "ok",
      "securesystemslib 1.6.0, under its own id of the key": "Accepted signatures do not match",
      "in-toto-attestation 0.9.3": "ok",
      "in-toto-attestation 0.9.3, whole numbers": "sequence 1.0",
      "jcs 0.2.1": "ok",
      "rfc8785 0.1.4": large,
      "py_webauthn 3.0.1": "ok",
      "fido2 2.2.1": "ok",
      "cedarpy 4.12.2": "ok",
      "PyJWT 2.15.1": "ok",
      "python-jose 3.5.0": "Unable to find an algorithm",
      "agent-evidence-vectors 0.27.0": "ok",
    },
  },
  npm: {
    files: ["check.mjs"],
    install: (folder) => [
      ["npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, ...npm]],
    ],
    run: (folder, samples) => [process.execPath, [path.join(folder, "check.mjs"), samples]],
    says: {
      "jose 6.2.18": "ok",
      "canonicalize 5.1.0": "ok",
      "json-canonicalize 3.0.1": "ok",
      "@truestamp/canonify 2.1.0": "ok",
    },
  },
  go: {
    files: ["main.go", "go.mod", "go.sum"],
    install: (folder) => [["go", ["build", "-C", folder, "-o", "tools", "."]]],
    run: (folder, samples) => [path.join(folder, "tools"), [samples]],
    says: {
      "sumdb 0.38.0": "ok",
      "torchwood 0.9.0": "ok",
      "tessera client 1.0.4": "ok",
      "go-securesystemslib 0.11.1": "ok",
      "in-toto attestation 1.2.0": "ok",
      "gowebpki/jcs 1.0.1": "ok",
      "go-webauthn 0.18.2": "ok",
      "cedar-go 1.9.2": "ok",
      "go-cose 1.3.0": "ok",
      "sigstore-go 1.3.0": "ok",
    },
  },
  rust: {
    files: ["main.rs", "Cargo.toml"],
    install: (folder) => [["cargo", ["build", "-q", "--manifest-path", path.join(folder, "Cargo.toml")]]],
    run: (folder, samples) => [
      path.join(process.env["CARGO_TARGET_DIR"] ?? path.join(folder, "target"), "debug/own-tools"),
      [samples],
    ],
    says: {
      "sigstore-verify 0.15.1": "ok",
      "zkryptium 0.8.0": "ok",
      "signed_note 0.2.0": "ok",
      "webauthn-rs 0.5.5": "ok",
      "Cedar 4.14.1": "ok",
      "serde_jcs 0.2.0": "ok",
      "serde_jcs 0.1.0": "not ",
      "serde_json_canonicalizer 0.4.1": "ok",
      "json-canon 0.1.3": large,
    },
  },
  java: {
    files: ["Check.java", "pom.xml"],
    install: (folder) => [
      [
        "mvn",
        [
          "-q",
          "-f",
          path.join(folder, "pom.xml"),
          "dependency:copy-dependencies",
          `-DoutputDirectory=${folder}/lib`,
        ],
      ],
      ["javac", ["-nowarn", "-cp", `${folder}/lib/*`, "-d", folder, path.join(folder, "Check.java")]],
    ],
    run: (folder, samples) => ["java", ["-cp", `${folder}:${folder}/lib/*`, "Check", samples]],
    says: {
      "BouncyCastle 1.81": "ok",
      "webauthn4j 0.31.7": "ok",
      "cedar-java 4.10.0": "ok",
      "java-json-canonicalization 1.1": "ok",
      "nimbus-jose-jwt 10.5": "ok",
    },
  },
  cosign: {
    files: [],
    install: (folder) => [
      ["go", ["install", "github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3"], { GOBIN: folder }],
    ],
    run: (folder, samples) => ["bash", ["-c", cosign, folder, samples]],
    says: { "cosign 3.1.3": "ok", "cosign 3.1.3, with the log": "Error" },
  },
};

/** The guide's command, and the same with the log. $0: its folder. $1: the samples. */
const cosign = `export PATH="$0:$PATH"; cd "$1"
command=$(sed -n "s/^cosign verify/cosign verify/p" ${path.resolve(guideFile)})
signature=$(eval "$command" 2>&1) && signature=ok
log=$(eval "\${command/--insecure-ignore-tlog=true/--trusted-root trusted_root.json}" 2>&1) && log=ok
echo "cosign 3.1.3: $(echo "$signature" | head -1)"
echo "cosign 3.1.3, with the log: $(echo "$log" | head -1)"`;

const { test, key } = setupTestApp();
let service: Listening;
let samples: string;
beforeAll(async () => {
  if (!isWanted) return;
  service = await listenFor(test);
  samples = await makeSamples(service.base, key);
});
afterAll(async () => {
  if (!isWanted) return;
  await service.close();
  await rm(samples, { recursive: true });
});

describe("tools of other people", () => {
  it.each(Object.keys(tools))("of %s are those of the guide", async (name) => {
    const guide = await readFile(guideFile, "utf8");
    for (const said of Object.keys(tools[name]?.says ?? {}))
      expect(guide, said).toContain(said.replace(/, .*/, ""));
  });

  it.runIf(isWanted).each(Object.entries(tools))(
    "of %s check what the guide says",
    { timeout: 3_600_000 },
    async (name, own) => {
      const folder = await installTools("own-tools", name, own);
      const [program, args] = own.run(folder, samples);
      const { out } = await runProgram(program, args, { env: process.env });
      const lines = out.trimEnd().split("\n");
      for (const [tool, said] of Object.entries(own.says)) {
        const line = lines.find((one) => one.startsWith(`${tool}: `)) ?? `${tool}: not there: ${out}`;
        const answer = line.slice(tool.length + 2);
        if (said === "ok") expect(answer, tool).toBe("ok");
        else expect([answer.startsWith(said), answer === "ok"], line).toEqual([true, false]);
      }
    },
  );
});

/** An authority's stamp, requests that rules judged, passkeys that approved, and a log with the entry of a receipt. */
async function makeSamples(base: string, key: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "countersign-tools-"));
  const save = async (name: string, content: unknown) => {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    const isText = typeof content === "string" || content instanceof Uint8Array;
    await writeFile(file, isText ? content : JSON.stringify(content));
  };
  const get = async (address: string) => {
    const response = await fetch(`${base}${address}`);
    if (!response.ok) throw new Error(`${address}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  };
  // biome-ignore lint/suspicious/noExplicitAny: answers as they come
  const read = async (address: string): Promise<any> =>
    JSON.parse(Buffer.from(await get(address)).toString());
  const inputs = "the inputs\n";
  await save("inputs.txt", inputs);
  const { presentation } = await makeReceiptSamples(test, key);
  await save("presentation.json", presentation);
  const body = { agent_slug: "tools-bot", action: "Pay", inputs_hash: `sha256:${sha256Hex(inputs)}` };
  const { attestation_id: id } = (await test.call("POST", "/v1/attest", { key, body })).body;
  const receipt = await read(`/v1/verify/${id}`);
  await save("log.json", receipt.log);
  await save("payload.json", receipt.payload);
  const bundle = await read(`/v1/verify/${id}/bundle`);
  await save("bundle.json", bundle);
  await save("envelope.json", bundle.dsseEnvelope);
  await save("receipt.tlog-proof", await get(`/v1/verify/${id}/tlog-proof`));
  await save("statement.cose", await get(`/v1/verify/${id}/scitt`));
  const keys = await read("/v1/pubkey");
  await save("key.pem", keys.public_key_pem);
  await save("dsse_keyid.txt", keys.keys[0].dsse_keyid);
  await save("vkey.txt", keys.log.vkey);
  await save("trusted_root.json", await get("/.well-known/sigstore/trusted_root.json"));
  await save("jwks.json", await get("/.well-known/jwks.json"));
  const checkpoint = await get("/log/checkpoint");
  await save("log/checkpoint", checkpoint);
  const width = Number(Buffer.from(checkpoint).toString().split("\n")[1]);
  for (const level of [0, "entries"] as const) {
    const tile = encodeTilePath({ level, index: 0, width });
    await save(`log/${tile}`, await get(`/log/${tile}`));
  }
  const authority = makeAuthority();
  const hash = sha256(new Uint8Array(checkpoint));
  await save("stamped.txt", checkpoint);
  await save("stamp.tsr", authority.reply(encodeTimeStampRequest(hash, new Uint8Array(8).fill(0x41))));
  authority.remove();
  await save("passkeys.json", listPasskeys());
  await save("jcs.json", listCanonical());
  await save("cedar.json", await listRuled(key));
  await save("audit-record.json", await listAuditRecord());
  return folder;
}

const sha256Hex = (text: string) => Buffer.from(sha256(utf8Encode(text))).toString("hex");

/** Passkeys in the JSON of browsers (WebAuthn), with what the reader has to know. */
function listPasskeys() {
  const { approvals, request, binding } = makeEnrolledAuthorization();
  const challenge = approvalChallenge(binding.request_hash, "approve");
  return approvals.flatMap((one) => {
    if (one.type !== "passkey") return [];
    const id = one.roster.entry.credential_id;
    const response = {
      authenticatorData: one.authenticator_data,
      clientDataJSON: one.client_data_json,
      signature: one.signature,
    };
    return {
      ...{ challenge: Buffer.from(challenge).toString("base64url"), origin: request.origin },
      ...{ rp_id: toRelyingParty(request.origin).rpId, public_key: one.credential_public_key },
      credential: { id, rawId: id, type: "public-key", clientExtensionResults: {}, response },
    };
  });
}

function listCanonical() {
  const numbers = [
    "0",
    "-0",
    "1.0",
    "1e20",
    "1e21",
    "1e-6",
    "1e-7",
    "0.1",
    "12000.5",
    "5e-324",
    "4.35",
    "100e-2",
  ];
  const large = ["9007199254740991", "9007199254740992", "1.7976931348623157e308"];
  const names = [
    '{"\\r":1,"1":2,"\\u0080":3,"\\u20ac":4,"\\ud83d\\ude00":5,"\\ufb33":6}',
    '{"b":1,"a":{"d":[],"c":{}}}',
  ];
  const texts = ['"\\u2028\\u000f\\/\\u007f\\"\\\\"', '"Zu\\u0308rich €😀"', "[true,false,null]"];
  return [...numbers, ...large, ...names, ...texts].map((input) => ({
    ...{ name: input, input: `{"x":${input}}` },
    bytes: canonicalJson({ x: JSON.parse(input) }),
  }));
}

/** Members of the draft's predicate in the guide's two tables: those that follow from a statement, and those that don't. */
async function listAuditRecord() {
  const guide = await readFile(guideFile, "utf8");
  const [, section = ""] = /## Agent audit records\n([\s\S]*?)\n## /.exec(guide) ?? [];
  const tables = section.split("What would not:").map((text) => text.match(/^\| `[^|]*/gm) ?? []);
  return tables.map((rows) => rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name)));
}

/** Requests that the guide's rules judge, as they are put to an engine. */
async function listRuled(key: string) {
  const guide = await readFile("components/guides/content/rules.md", "utf8");
  const [, policies = ""] = /```cedar\n([\s\S]*?)```/.exec(guide) ?? [];
  const put = await test.call("PUT", "/v1/rules", { key, body: { text: policies, mode: "enforce" } });
  if (put.status !== 200) throw new Error(JSON.stringify(put.body));
  const cases = [];
  for (const [tool, context] of [
    ["Read", {}],
    ["Bash", { command: "npm test" }],
    ["Bash", { command: "rm -rf /" }],
  ] as const) {
    const asked = await ask(test, key, { agent_slug: "my-coder", action: `Use ${tool}`, tool, context });
    const { rules } = (await asked.read(key)).body;
    if (!rules) throw new Error("no rules");
    for (const action of ["act", "act_approved"] as const) {
      const call = cedarCall(rules.context as never, action);
      const answer = cedarWasm.isAuthorized({ ...call, policies: { staticPolicies: policies } } as never);
      if (answer.type === "failure") throw new Error(JSON.stringify(answer.errors));
      const { principal, action: act, resource } = call;
      const uids = { principal, action: act, resource };
      const texts = Object.entries(uids).map(([name, { type, id }]) => [
        name,
        `${type}::${JSON.stringify(id)}`,
      ]);
      const { context: given, entities } = call;
      const decision = answer.response.decision;
      cases.push({ policies, ...Object.fromEntries(texts), uids, context: given, entities, decision });
    }
  }
  return cases;
}
