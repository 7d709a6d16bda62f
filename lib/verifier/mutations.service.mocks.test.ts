/**
 * Every leaf of every kind of receipt is changed in several ways: each change must make the verifier fail or
 * refuse the file. What carries no evidence is listed by name, and the list is exact.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { makeReceiptSamples, type ReceiptSamples } from "#support/receipt-samples";
import { setupTestApp } from "#support/setup-app";
import { verifyInBrowser } from "./browser";

// Most changes leave the inputs of signatures and pairings as they are.
vi.mock("#lib/protocol/keys/ed25519", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/keys/ed25519")>, "verifyEd25519Strict");
});
vi.mock("#lib/protocol/passkey/assertion", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/passkey/assertion")>, "checkAssertion");
});
vi.mock("#lib/protocol/world-id/groth16", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/world-id/groth16")>, "verifyGroth16");
});
vi.mock("#lib/verifier/checks/check-presentation", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(
    load<typeof import("#lib/verifier/checks/check-presentation")>,
    "checkLonePresentation",
    "checkPublicProof",
  );
});

type Path = (string | number)[];

function listLeaves(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const names = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return names.flatMap((name) =>
    listLeaves((value as Record<string | number, unknown>)[name], [...path, name]),
  );
}

function listObjects(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return [path, ...Object.entries(value).flatMap(([name, inner]) => listObjects(inner, [...path, name]))];
}

function read(value: unknown, path: Path): unknown {
  return path.reduce((at, step) => (at as Record<string | number, unknown>)[step], value);
}

function replace(value: unknown, path: Path, change: (old: unknown) => unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >;
  copy[name] = replace(copy[name], rest, change);
  return copy;
}

/** Other values of the same type, near and far, and a list that reads as the same text. */
function changesOf(leaf: unknown): unknown[] {
  if (leaf === null) return ["x", true, 1];
  if (typeof leaf === "boolean") return [!leaf];
  if (typeof leaf === "number") return [leaf + 1, 0.5];
  const text = String(leaf);
  const middle = Math.floor(text.length / 2);
  const at = (i: number) => {
    const other = /[0-8]/.test(text[i] ?? "") ? "9" : /[b-z]/.test(text[i] ?? "") ? "a" : "b";
    return `${text.slice(0, i)}${other}${text.slice(i + 1)}`;
  };
  return [at(0), at(middle), `${text}x`, "", [text]].filter((one) => one !== text);
}

async function judge(value: unknown, trust: unknown): Promise<string> {
  try {
    return (await verifyInBrowser(value, trust)).verdict;
  } catch (error) {
    if (error instanceof UnreadableError) return "refused";
    throw error;
  }
}

/** Claims of the service about itself, and lines for people to run: nothing is concluded from them. */
const sayings = [
  "valid",
  "erased_at",
  "public_url",
  "verify_command",
  "checks.*",
  "independent_verification.curl_pubkey",
  "independent_verification.verify_signature",
];
/** Fields that only further entries of the record could prove. */
const beyondNext = [
  "record_neighbours.after.payload_hash",
  "record_neighbours.head.sequence",
  "record_neighbours.head.link",
];
const withoutEvidence: Record<string, string[]> = {
  "attest-answer": ["public_url", "verify_command"],
  plain: [...sayings, ...beyondNext],
  "hash-approved": [...sayings, ...beyondNext, "warnings.0.message", "warnings.1.message"],
  "human-approved": [...sayings, ...beyondNext, "warnings.0.message"],
  "enrolled-approved": [...sayings, ...beyondNext, "warnings.0.message"],
  "amended-approved": [...sayings, ...beyondNext, "warnings.0.message"],
  "standing-approved": [...sayings, ...beyondNext, "warnings.0.message"],
  "rule-approved": [...sayings, "warnings.0.message"],
  private: [
    ...sayings,
    "signature",
    "timestamp",
    "client_gap",
    "record.agent_id",
    "record_neighbours.head.sequence",
  ],
  erased: [
    ...sayings,
    "warnings.*",
    "signature",
    "attestation_id",
    "agent_slug",
    "is_public",
    "record.agent_id",
  ],
  "human-authorization": [],
  presentation: [],
  bundle: ["verificationMaterial.tlogEntries.0.integratedTime"],
};

const isListed = (path: Path, list: string[]) => {
  const name = path.join(".");
  return list.some((one) => (one.endsWith(".*") ? name.startsWith(one.slice(0, -1)) : one === name));
};

describe("a change of any field", () => {
  const { test } = setupTestApp();
  let samples: ReceiptSamples;
  let trust: unknown;
  beforeAll(async () => {
    const { key } = await test.createKey();
    samples = await makeReceiptSamples(test, key);
    trust = (await test.call("GET", "/v1/pubkey")).body;
  });

  const verdicts = {
    "attest-answer": "valid",
    plain: "valid",
    "hash-approved": "valid",
    "human-approved": "valid",
    "human-authorization": "valid",
    "enrolled-approved": "valid",
    "amended-approved": "valid",
    "standing-approved": "valid",
    "rule-approved": "valid",
    private: "incomplete",
    "private-as-owner": "valid",
    erased: "erased",
    presentation: "valid",
    bundle: "valid",
    "tlog-proof": "valid",
  };

  it.each(Object.entries(verdicts))("unchanged, %s is %s", async (name, verdict) => {
    expect(await judge(samples[name], trust)).toBe(verdict);
  });

  it.each(Object.keys(withoutEvidence))("is caught in %s, but for what carries no evidence", async (name) => {
    const sample = samples[name];
    const before = await judge(sample, trust);
    const list = withoutEvidence[name] ?? [];
    const idle = new Set(list);
    const missed: string[] = [];
    let tried = 0;
    for (const path of listLeaves(sample)) {
      for (const change of changesOf(read(sample, path))) {
        const after = await judge(
          replace(sample, path, () => change),
          trust,
        );
        const isCaught = after === "invalid" || after === "refused";
        tried += 1;
        if (!isCaught && !isListed(path, list))
          missed.push(`${path.join(".")} → ${JSON.stringify(change)}: ${after}`);
        if (!isCaught && after === before)
          for (const one of list) if (isListed(path, [one])) idle.delete(one);
      }
    }
    expect(missed).toEqual([]);
    if (name === "amended-approved") expect(tried).toBeGreaterThan(300);
    expect(
      [...idle].filter((one) => one !== "erased_at"),
      "listed without need",
    ).toEqual([]);
  });

  it.each([
    ["private", ["is_public", "record", "timestamp"]],
    ["erased", ["attestation_id", "agent_slug", "is_public", "record", "erased_at"]],
  ])("can't be seen in what %s shows as unproven, which says so", async (name, fields) => {
    expect((await verifyInBrowser(samples[name], trust)).unproven).toEqual(fields);
  });

  it("is caught where a field is added to what is hashed", async () => {
    const hashed = /^(?:metadata|human_approval|human_authorization|zk_proof)\b/;
    const sample = samples["human-approved"];
    const paths = listObjects(sample).filter((path) => hashed.test(path.join(".")));
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) {
      const added = replace(sample, path, (old) => ({ ...(old as object), added: 1 }));
      expect(["invalid", "refused"], path.join(".")).toContain(await judge(added, trust));
    }
  });

  it("is caught where the answer leaves out what its own bytes warn of, or makes something up", async () => {
    const made = (...codes: string[]) => codes.map((code) => ({ code, message: "m" }));
    for (const [name, warnings] of [
      ["human-approved", []],
      ["human-approved", made("approval_asserted_only")],
      ["human-approved", made("approval_test", "tools_not_registered")],
      ["hash-approved", []],
      ["hash-approved", made("approval_asserted_only")],
      ["plain", made("approval_test")],
      ["plain", "none"],
      ["private", made("agent_signature_invalid")],
      ["private", made("approval_asserted_only")],
    ] as const) {
      const lie = { ...(samples[name] as object), warnings };
      expect(["invalid", "refused"], `${name} ${JSON.stringify(warnings)}`).toContain(
        await judge(lie, trust),
      );
    }
  });

  it("is not a warning's code of a later release, nor a list that an earlier one did not have", async () => {
    const sample = samples["human-approved"] as { warnings: object[] };
    const later = { ...sample, warnings: [...sample.warnings, { code: "invented_later", message: "m" }] };
    expect(await judge(later, trust)).toBe("valid");
    const { warnings: _none, ...earlier } = sample;
    expect(await judge(earlier, trust)).toBe("valid");
  });

  it("is caught in every line of a log proof", async () => {
    const file = String(samples["tlog-proof"]);
    for (const i of file.split("\n").keys()) {
      const lines = file.split("\n");
      if (lines[i] === "") continue;
      for (const change of changesOf(lines[i])) {
        if (typeof change !== "string") continue;
        const changed = lines.with(i, change).join("\n");
        expect(["invalid", "refused"], changed).toContain(await judge(changed, trust));
      }
    }
  });

  it("does not make a receipt better when a field is left out", async () => {
    for (const name of ["plain", "human-approved", "private", "bundle", "human-authorization"]) {
      const sample = samples[name] as Record<string, unknown>;
      const before = await judge(sample, trust);
      for (const field of Object.keys(sample)) {
        const { [field]: _left, ...rest } = sample;
        const after = await judge(rest, trust);
        expect(["invalid", "refused", "incomplete", before], `${name} ${field}`).toContain(after);
      }
    }
  });
});
