/**
 * The import rules of biome.json, shown to fire: forbidden imports of every form are planted in each folder of a copy
 * of the source, and Biome must refuse each; what a folder may import passes. A rule that stopped working would
 * otherwise look like a clean tree.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

type Override = { includes: string[]; linter: { rules: Record<string, Record<string, unknown>> } };
type Diagnostic = { category: string; location: { path: string } };

const root = process.cwd();
const overrides = (
  JSON.parse(readFileSync(path.join(root, "biome.json"), "utf8")) as { overrides: Override[] }
).overrides;
const importRule = "lint/style/noRestrictedImports";

/** For each folder: a folder and a package that it may not import, and two imports that it may. */
const folders: Record<string, { forbidden: [string, string]; allowed: [string, string] }> = {
  "lib/domain": {
    forbidden: ["#lib/db/client", "node:fs"],
    allowed: ["#platform/bytes", "canonicalize"],
  },
  "lib/platform": { forbidden: ["#lib/db/client", "zod"], allowed: ["node:crypto", "@noble/hashes/sha2.js"] },
  "lib/contract": {
    forbidden: ["#lib/attestations/attest", "next/headers"],
    allowed: ["zod", "#lib/domain/bytes"],
  },
  "lib/verifier": {
    forbidden: ["#lib/log/reader", "zod"],
    allowed: ["#lib/contract/x", "#lib/domain/bytes"],
  },
  "lib/client": {
    forbidden: ["#lib/db/client", "zod"],
    allowed: ["#lib/verifier/trust", "#lib/domain/bytes"],
  },
  "lib/db": { forbidden: ["#lib/door/route", "next/headers"], allowed: ["drizzle-orm", "#lib/env"] },
  "lib/workers": { forbidden: ["#lib/db/client", "drizzle-orm"], allowed: ["piscina", "#lib/domain/bytes"] },
  "lib/door": { forbidden: ["#lib/keys/api-keys", "next/headers"], allowed: ["zod", "#lib/db/client"] },
  "lib/signing": { forbidden: ["#lib/log/reader", "zod"], allowed: ["drizzle-orm", "#lib/db/schema"] },
  "lib/log": {
    forbidden: ["#lib/accounts/audit", "next/headers"],
    allowed: ["drizzle-orm", "#lib/signing/signer"],
  },
  "lib/mail": { forbidden: ["#lib/accounts/mails", "next/headers"], allowed: ["resend", "#lib/door/route"] },
  "lib/accounts": {
    forbidden: ["#lib/keys/api-keys", "next-auth"],
    allowed: ["drizzle-orm", "#lib/mail/mailer"],
  },
  "lib/keys": { forbidden: ["#lib/agents/agents", "next/headers"], allowed: ["zod", "#lib/accounts/audit"] },
  "lib/agents": {
    forbidden: ["#lib/approvals/embed", "next/headers"],
    allowed: ["drizzle-orm", "#lib/keys/api-keys"],
  },
  "lib/approvals": {
    forbidden: ["#lib/attestations/view", "next/headers"],
    allowed: ["drizzle-orm", "#lib/agents/agents"],
  },
  "lib/attestations": {
    forbidden: ["#lib/portal/overview", "next/headers"],
    allowed: ["feed", "#lib/approvals/embed"],
  },
  "lib/webhooks": {
    forbidden: ["#lib/portal/overview", "next/headers"],
    allowed: ["drizzle-orm", "#lib/approvals/rows"],
  },
  "lib/notices": {
    forbidden: ["#lib/portal/overview", "next/headers"],
    allowed: ["#lib/webhooks/schedule", "#lib/approvals/rows"],
  },
  "lib/telemetry": {
    forbidden: ["#lib/app/app", "next/headers"],
    allowed: ["prom-client", "#lib/approvals/context"],
  },
  "lib/mcp": {
    forbidden: ["#lib/attestations/attest", "next/headers"],
    allowed: ["@modelcontextprotocol/server", "#lib/door/route"],
  },
  "lib/portal": {
    forbidden: ["#lib/app/app", "next/headers"],
    allowed: ["drizzle-orm", "#lib/attestations/own"],
  },
  "lib/stand-in": {
    forbidden: ["#lib/attestations/attest", "drizzle-orm/pg-core"],
    allowed: ["zod", "#lib/approvals/world-id/portal"],
  },
  "lib/app": {
    forbidden: ["#lib/pages/session", "next/headers"],
    allowed: ["zod", "#lib/attestations/attest"],
  },
  "lib/cli": { forbidden: ["#lib/pages/session", "zod"], allowed: ["node:util", "#lib/app/open-log"] },
  "lib/pages": { forbidden: ["#components/badge", "drizzle-orm"], allowed: ["next/headers", "#lib/app/app"] },
  components: {
    forbidden: ["#lib/attestations/attest", "postgres"],
    allowed: ["react", "#components/badge"],
  },
  app: {
    forbidden: ["#lib/db/client", "#lib/signing/signing-keys"],
    allowed: ["next/headers", "#components/badge"],
  },
};

const forms: Record<string, (from: string) => string> = {
  named: (from) => `import { a } from "${from}";\nexport const b = a;\n`,
  "type-only": (from) => `import type { A } from "${from}";\nexport type B = A;\n`,
  "side effect": (from) => `import "${from}";\n`,
  "re-export": (from) => `export { a } from "${from}";\n`,
  "star re-export": (from) => `export * from "${from}";\n`,
  dynamic: (from) => `export const load = () => import("${from}");\n`,
};

type Plant = { file: string; source: string; rule: string; refused: boolean; what: string; form: string };

function plantImports(): Plant[] {
  return Object.entries(folders).flatMap(([folder, { forbidden, allowed }], at) => {
    const up = "../".repeat(folder.split("/").length);
    const [alias] = forbidden;
    const relative = `${up}${alias.replace(/^#/, "")}`;
    const refused = [...forbidden, relative, `./${relative}`, "./inner/../../other"];
    const kinds = [
      ...refused.map((from) => ({ from, refused: true })),
      ...[...allowed, "./sibling"].map((from) => ({ from, refused: false })),
    ];
    return kinds.flatMap(({ from, refused }, kind) =>
      Object.entries(forms).map(([form, write], number) => ({
        file: `${folder}/plant-${at}-${kind}-${number}.ts`,
        source: write(from),
        rule: importRule,
        refused,
        form,
        what: `${folder} ${refused ? "may not" : "may"} import ${from}`,
      })),
    );
  });
}

function plantOthers(): Plant[] {
  const environment = 'export const value = process.env["NAME"];\n';
  const assertion = "export const first = (values: string[]): string => values[0]!;\n";
  const plain = "export const value = 1;\n";
  const plant = (rule: string, file: string, source: string, refused: boolean): Plant => ({
    file,
    source,
    rule,
    refused,
    form: rule,
    what: `${file} ${refused ? "breaks" : "keeps"} ${rule}`,
  });
  const environmentRule = "lint/style/noProcessEnv";
  const nameRule = "lint/style/useFilenamingConvention";
  const assertionRule = "lint/style/noNonNullAssertion";
  return [
    plant(importRule, "lib/outside.ts", forms["named"]?.("../server") ?? "", true),
    plant(importRule, "lib/outside-alias.ts", forms["named"]?.("#lib/errors") ?? "", false),
    ...["components/ui", "app/portal"].flatMap((folder) =>
      Object.entries({
        link: 'import Link from "next/link";\nexport const b = Link;\n',
        form: 'import Form from "next/form";\nexport const b = Form;\n',
        action: 'import { useActionState } from "react";\nexport const b = useActionState;\n',
        router: 'import { useRouter } from "next/navigation";\nexport const b = useRouter;\n',
      }).map(([name, source]) => plant(importRule, `${folder}/uses-${name}.ts`, source, true)),
    ),
    plant(
      importRule,
      "components/ui/reads-path.ts",
      'import { usePathname } from "next/navigation";\nexport const b = usePathname;\n',
      false,
    ),
    plant(environmentRule, "lib/log/reads-env.ts", environment, true),
    plant(environmentRule, "app/reads-env.ts", environment, true),
    ...[
      "lib/env.ts",
      "e2e/support/databases.ts",
      "lib/door/env.test.ts",
      "e2e/env.ts",
      "bench/env.ts",
      ".ci/env.mjs",
      "next.config.ts",
    ].map((file) => plant(environmentRule, file, environment, false)),
    plant(nameRule, "lib/log/camelCase.ts", plain, true),
    plant(nameRule, "app/[keyId]/page.ts", plain, false),
    plant(assertionRule, "lib/log/asserts.ts", assertion, true),
    ...["lib/verifier/asserts.ts", "lib/domain/asserts.test.ts", "e2e/asserts.ts", "bench/asserts.ts"].map(
      (file) => plant(assertionRule, file, assertion, false),
    ),
  ];
}

const plants = [...plantImports(), ...plantOthers()];
const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-import-rules-"));
const refusals = new Map<string, Set<string>>();

beforeAll(() => {
  for (const file of ["biome.json", "package.json", ".gitignore"]) {
    copyFileSync(path.join(root, file), path.join(folder, file));
  }
  for (const { file, source } of plants) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), source);
  }
  const biome = path.join(root, "node_modules", ".bin", "biome");
  const run = spawnSync(biome, ["lint", "--reporter=json", "--max-diagnostics=none", "."], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  const { diagnostics, summary } = JSON.parse(run.stdout) as {
    diagnostics: Diagnostic[];
    summary: { unchanged: number; changed: number };
  };
  expect(summary.unchanged + summary.changed, "files that Biome read").toBeGreaterThanOrEqual(plants.length);
  for (const { category, location } of diagnostics) {
    const file = location.path.split(path.sep).join("/");
    refusals.set(file, (refusals.get(file) ?? new Set()).add(category));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("import rules", () => {
  it.each([...new Set(plants.map(({ what }) => what))])("%s", (what) => {
    const group = plants.filter((plant) => plant.what === what);
    const hits = group.filter(({ file, rule }) => refusals.get(file)?.has(rule)).map(({ form }) => form);
    expect(hits).toEqual(group.filter(({ refused }) => refused).map(({ form }) => form));
  });

  it("covers every override of biome.json", () => {
    const restricted = overrides.filter(({ linter }) => linter.rules["style"]?.["noRestrictedImports"]);
    expect(restricted.map(({ includes }) => includes[0]).sort()).toEqual(
      Object.keys(folders)
        .map((folder) => `${folder}/**`)
        .sort(),
    );
    const ruleNames = overrides.flatMap(({ linter }) =>
      Object.values(linter.rules).flatMap((group) => Object.keys(group)),
    );
    const planted = new Set(plants.map(({ rule }) => rule.split("/").at(-1)));
    expect(ruleNames.filter((name) => !planted.has(name))).toEqual([]);
  });
});
