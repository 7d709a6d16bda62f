/** Calls of an operation in a shell, in TypeScript and in Python. */

import { exampleSlug } from "#lib/api/operations/examples";
import type { OperationEntry } from "./entries";
import { examplePath } from "./example-value";

export interface Sample {
  readonly id: "curl" | "typescript" | "python";
  readonly title: string;
  readonly fence: string;
  readonly code: string;
}

/** One call of the API. */
interface Called {
  /** Base URL for the client library. */
  readonly base: string;
  readonly operationId: string;
  readonly url: string;
  readonly method: string;
  readonly isKeyed: boolean;
  readonly body: unknown;
  readonly isJson: boolean;
}

function describeCall({ base, path, method, operation }: OperationEntry): Called {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1];
  return {
    base,
    operationId: operation.operationId,
    url: base + examplePath(path),
    method: method.toUpperCase(),
    isKeyed: operation.security.length === 1,
    body: operation.requestBody?.content["application/json"]?.example,
    isJson: success?.content?.["application/json"] !== undefined,
  };
}

/**
 * A name belongs to the first organization that uses it, so the sample makes one that is free, and the same for all
 * samples of a shell that has AGENT. Only for bodies with the examples' own name.
 */
const ownAgent = {
  curl: `AGENT=\${AGENT:-${exampleSlug}-$(openssl rand -hex 4)}\n`,
  typescript: `const agent = process.env["AGENT"] ?? \`${exampleSlug}-\${crypto.randomUUID().slice(0, 8)}\`;\n`,
  python: `agent = os.environ.get("AGENT") or f"${exampleSlug}-{secrets.token_hex(4)}"\n`,
} as const;

/** A body in a language's own notation, with `variable` in place of the examples' name. */
function nameAgent(language: keyof typeof ownAgent, body: string, variable: string) {
  const named = body.replaceAll(JSON.stringify(exampleSlug), variable);
  return { body: named, prelude: named === body ? "" : ownAgent[language] };
}

const indent = (text: string, spaces: number) => text.replaceAll("\n", `\n${" ".repeat(spaces)}`);

function curl({ url, method, isKeyed, body }: Called): string {
  const isPlain = method === "GET" || (method === "POST" && body !== undefined);
  const sent = nameAgent("curl", JSON.stringify(body, null, 2) ?? "", `"'$AGENT'"`);
  const command = [
    `curl --fail-with-body -sS ${isPlain ? "" : `-X ${method} `}'${url}'`,
    ...(isKeyed ? ['  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"'] : []),
    ...(body === undefined ? [] : [`  -d '${sent.body}'`]),
  ].join(" \\\n");
  return `${sent.prelude}${command}`;
}

const clientCalls: Readonly<Record<string, (body: string) => string>> = {
  attest: (body) => `const receipt = await countersign.attest(${body});\nconsole.log(receipt.public_url);`,
  authorize: (body) =>
    `const request = await countersign.authorize(${body});\nconsole.log(request.approval_url, request.confirmation_code);`,
  readAuthorization: () =>
    `const approved = await countersign.waitForDecision("${examplePath("{request_id}")}");\nconsole.log(approved.human_authorization);`,
  verify: () =>
    `// Repeats every check here, without believing the service.\nconst verification = await countersign.verify("${examplePath("{id}")}");\nconsole.log(verification.verdict);`,
};

function typescript({ base, operationId, url, method, isKeyed, body, isJson }: Called): string {
  const call = clientCalls[operationId];
  const { body: sent, prelude } = nameAgent("typescript", JSON.stringify(body, null, 2) ?? "", "agent");
  if (call !== undefined)
    return `import { createCountersign } from "countersign/client";

const countersign = createCountersign({
  baseUrl: "${base}",
  apiKey: process.env["COUNTERSIGN_API_KEY"],
});
${prelude}${call(sent)}`;
  const headers = isKeyed
    ? [`  headers: { Authorization: "Bearer " + process.env["COUNTERSIGN_API_KEY"] },`]
    : [];
  const given = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...headers,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indent(sent, 2)}),`]),
  ];
  const options = given.length === 0 ? "" : `, {\n${given.join("\n")}\n}`;
  return `${prelude}const response = await fetch("${url}"${options});
if (!response.ok) throw new Error(await response.text());
console.log(await response.${isJson ? "json" : "text"}());`;
}

/** A JSON value as Python writes it. */
export function toPython(value: unknown, depth = 0): string {
  const pad = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((one) => toPython(one, depth + 1)).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const lines = Object.entries(value).map(
    ([name, field]) => `${pad}${JSON.stringify(name)}: ${toPython(field, depth + 1)},\n`,
  );
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${end}}`;
}

const pythonCalls: Readonly<Record<string, (body: string) => string>> = {
  attest: (body) => `receipt = countersign.attest(${body})\nprint(receipt["public_url"])`,
  authorize: (body) =>
    `request = countersign.authorize(${body})\nprint(request["approval_url"], request["confirmation_code"])`,
  readAuthorization: () =>
    `approved = countersign.wait_for_decision("${examplePath("{request_id}")}")\nprint(approved["human_authorization"])`,
  revokeAuthorization: () =>
    `print(countersign.revoke("${examplePath("{request_id}")}", reason="The invoice is for another account")["revoked_at"])`,
  freezeAgent: () => `countersign.freeze("${examplePath("{slug}")}", "It paid the same invoice twice")`,
  unfreezeAgent: () => `countersign.unfreeze("${examplePath("{slug}")}", reason="Fixed in version 1.2")`,
  cancelAuthorization: () => `print(countersign.cancel("${examplePath("{request_id}")}")["status"])`,
  verify: () =>
    `# Repeats the checks here, without believing the service.\nreport = countersign.verify("${examplePath("{id}")}")\nprint(report.verdict)`,
};

function python({ base, operationId, url, method, isKeyed, body, isJson }: Called): string {
  const sent = nameAgent("python", body === undefined ? "" : toPython(body), "agent");
  const imports = [isKeyed || sent.prelude !== "" ? "os" : "", sent.prelude === "" ? "" : "secrets"].filter(
    Boolean,
  );
  const standard = imports.map((name) => `import ${name}\n`).join("");
  const start = standard === "" ? "" : `${standard}\n`;
  if (!isJson) return `${start}${pythonDownload(url, isKeyed)}`;
  const words = [method, url.slice(base.length)].map((word) => JSON.stringify(word));
  const given = [...words, ...(sent.body === "" ? [] : [sent.body])].join(", ");
  const call = pythonCalls[operationId]?.(sent.body) ?? `print(countersign.call(${given}))`;
  const key = isKeyed ? ', os.environ["COUNTERSIGN_API_KEY"]' : "";
  return `${start}from countersign_client import Countersign

countersign = Countersign("${base}"${key})
${sent.prelude}${call}`;
}

function pythonDownload(url: string, isKeyed: boolean): string {
  const headers = isKeyed ? `, headers={"Authorization": f"Bearer {os.environ['COUNTERSIGN_API_KEY']}"}` : "";
  return `import httpx2

response = httpx2.get("${url}"${headers})
response.raise_for_status()
print(len(response.content))`;
}

export const writeSamples = (entry: OperationEntry): readonly Sample[] => listSamples(describeCall(entry));

export function listSamples(called: Called): readonly Sample[] {
  return [
    { id: "curl", title: "curl", fence: "sh", code: curl(called) },
    { id: "typescript", title: "TypeScript", fence: "ts", code: typescript(called) },
    { id: "python", title: "Python", fence: "python", code: python(called) },
  ];
}
