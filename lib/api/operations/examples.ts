/** Request bodies and path parameters shown in the OpenAPI document. A test sends each of them. */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { OperationId } from "./index";

/** The organization that sends the examples first owns it. */
export const exampleSlug = "invoice-bot";

const attribute = (key: string, value: string): JsonObject => ({ key, value: { stringValue: value } });

export const requestExamples: Partial<Record<OperationId, JsonObject>> = {
  attest: {
    agent_slug: exampleSlug,
    action: "Pay invoice 1042",
    inputs_hash: "sha256:3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80",
    metadata: { invoice: "1042" },
    model_id: "example-model-1",
    tools_used: ["payments.send"],
  },
  attestBatch: {
    attestations: [
      { agent_slug: exampleSlug, action: "Read invoice 1042", inputs_hash: "sha256:4f1c" },
      { agent_slug: exampleSlug, action: "Read invoice 1043", inputs_hash: "sha256:b7d0" },
    ],
  },
  otlpTraces: {
    resourceSpans: [
      {
        resource: { attributes: [attribute("countersign.agent", exampleSlug)] },
        scopeSpans: [
          {
            spans: [
              {
                traceId: "5b8efff798038103d269b633813fc60c",
                spanId: "eee19b7ec3c1b174",
                name: "execute_tool payments.send",
                startTimeUnixNano: "1795948830816000000",
                endTimeUnixNano: "1795948830982000000",
                attributes: [
                  attribute("gen_ai.operation.name", "execute_tool"),
                  attribute("gen_ai.tool.name", "payments.send"),
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  otlpLogs: {
    resourceLogs: [
      {
        resource: { attributes: [attribute("countersign.agent", exampleSlug)] },
        scopeLogs: [
          {
            logRecords: [
              {
                timeUnixNano: "1795948830816000000",
                body: { stringValue: "claude_code.tool_result" },
                attributes: [attribute("tool_name", "Bash"), attribute("success", "true")],
              },
            ],
          },
        ],
      },
    ],
  },
  authorize: {
    agent_slug: exampleSlug,
    action: "Pay invoice 1042",
    tool: "payments.send",
    amount: { value: "100", currency: "EUR" },
    context: { payee: "Example GmbH" },
    expires_in_minutes: 30,
    required_level: "device",
  },
  answerQuestion: { number: 1, answer: "Paper for the office, ordered on 3 November" },
  claimAuthorization: { run: "run-2f6c1d7e" },
  revokeAuthorization: { reason: "The invoice is for another account" },
  createPresentation: {
    disclose: ["agent_slug", "action"],
    audience: "https://bank.example",
    nonce: "n-0S6_WzA2Mj",
  },
  registerIdentity: {
    slug: exampleSlug,
    name: "Invoice bot",
    description: "Pays the invoices that accounting has released",
    code_hash: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    tools: ["payments.send", "invoices.read"],
  },
  updateIdentity: { description: "Pays invoices below 500 EUR" },
  putTools: { tools: ["payments.send"], tool_descriptions: { "payments.send": "Sends a SEPA transfer" } },
  freezeAgent: { reason: "It paid the same invoice twice" },
  unfreezeAgent: { reason: "Fixed in version 1.2" },
  createWebhook: {
    url: "https://example.com/countersign",
    events: ["authorization.approved", "authorization.denied"],
  },
  updateWebhook: { events: ["authorization.approved"], enabled: true },
  rotateWebhook: { overlap_hours: 24 },
  evaluateAccess: {
    subject: { type: "agent", id: exampleSlug },
    action: { name: "Pay invoice 1042" },
    resource: { type: "tool", id: "payments.send" },
    context: { amount: { value: "100", currency: "EUR" }, details: { recipient: "Example Ltd" } },
  },
  putRules: {
    text: '@id("never-delete")\nforbid (principal, action, resource == Tool::"delete_database");\n',
    mode: "log_only",
    fallback: "ask",
  },
  simulateRules: {
    text: '@id("all")\npermit (principal, action == Action::"act", resource);\n',
    fallback: "ask",
  },
  requestKey: { email: "you@example.com", name: "laptop" },
  verifyKey: { email: "you@example.com", code: "000000" },
};

const uuid = "01990000-0000-7000-8000-000000000000";

const hex = "3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80";
const texts = [
  hex,
  hex.slice(0, 16),
  `${"A".repeat(43)}=`,
  `${"A".repeat(86)}==`,
  "invoice-bot",
  "AAAA",
  uuid,
  "0x01",
  "1",
  "areq_3q2-7wEjRWeJq83vEjRWeA",
];

/** The first text that a schema takes, of those `preferred` and then of a few usual ones. */
export function findExample(
  schema: { pattern?: string; minLength?: number; maxLength?: number },
  ...preferred: (string | undefined)[]
): string | undefined {
  const { pattern, minLength = 0, maxLength = 10_000 } = schema;
  return [...preferred, ...texts].find(
    (text) =>
      text !== undefined &&
      text.length >= minLength &&
      text.length <= maxLength &&
      (pattern === undefined || new RegExp(pattern, "u").test(text)),
  );
}

export const pathExamples: Readonly<Record<string, string>> = {
  id: uuid,
  slug: exampleSlug,
  request_id: "areq_3q2-7wEjRWeJq83vEjRWeA",
  webhook_id: uuid,
  message_id: "msg_3b9c358f36f0a31b6ad3e14f309c7cf1",
  hash: hex,
  path: "0/000",
  covers_size: "1",
  digest: hex.slice(0, 16),
  file: "countersign.tgz",
  log: "2",
};
