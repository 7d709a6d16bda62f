/** How an operation is called: in a shell, in TypeScript and in Python. */
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
  /** Of the client library. */
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

const indent = (text: string, spaces: number) => text.replaceAll("\n", `\n${" ".repeat(spaces)}`);

function curl({ url, method, isKeyed, body }: Called): string {
  const isPlain = method === "GET" || (method === "POST" && body !== undefined);
  return [
    `curl --fail-with-body -sS ${isPlain ? "" : `-X ${method} `}'${url}'`,
    ...(isKeyed ? ['  -H "Authorization: Bearer $COUNTERSIGN_API_KEY"'] : []),
    ...(body === undefined ? [] : [`  -d '${JSON.stringify(body, null, 2)}'`]),
  ].join(" \\\n");
}

/** What the client library has a function for. */
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
  const sent = JSON.stringify(body, null, 2);
  if (call !== undefined)
    return `import { createCountersign } from "countersign/client";

const countersign = createCountersign({
  baseUrl: "${base}",
  apiKey: process.env["COUNTERSIGN_API_KEY"],
});
${call(sent)}`;
  const headers = isKeyed
    ? [`  headers: { Authorization: "Bearer " + process.env["COUNTERSIGN_API_KEY"] },`]
    : [];
  const given = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...headers,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indent(sent, 2)}),`]),
  ];
  const options = given.length === 0 ? "" : `, {\n${given.join("\n")}\n}`;
  return `const response = await fetch("${url}"${options});
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

function python({ url, method, isKeyed, body, isJson }: Called): string {
  const given = [
    `    "${url}",`,
    ...(isKeyed ? [`    headers={"Authorization": f"Bearer {os.environ['COUNTERSIGN_API_KEY']}"},`] : []),
    ...(body === undefined ? [] : [`    json=${toPython(body, 1)},`]),
    "    timeout=30,",
  ];
  return `${isKeyed ? "import os\n\n" : ""}import requests

response = requests.${method.toLowerCase()}(
${given.join("\n")}
)
response.raise_for_status()
print(response.${isJson ? "json()" : "content"})`;
}

export const writeSamples = (entry: OperationEntry): readonly Sample[] => samplesOf(describeCall(entry));

export function samplesOf(called: Called): readonly Sample[] {
  return [
    { id: "curl", title: "curl", fence: "sh", code: curl(called) },
    { id: "typescript", title: "TypeScript", fence: "ts", code: typescript(called) },
    { id: "python", title: "Python", fence: "python", code: python(called) },
  ];
}
