/**
 * Messages to a chat, by an incoming webhook of Slack or Teams: the facts of what an event tells of, as they are when it is
 * sent, and a link to the portal, where members sign in. Nobody decides in a chat: no message has the link that can.
 *
 * Agents' words stand where neither chat reads markup: `plain_text` of Slack's Block Kit, `TextRun` of Adaptive Cards.
 */
import { and, eq } from "drizzle-orm";
import { attestations } from "#lib/db/schema";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { type FactId, type Facts, factsOfReceipt, listFacts } from "#lib/protocol/record/facts";
import type { ActionPredicate } from "#lib/protocol/statement/statement";
import { toUnlinkedText } from "#lib/protocol/text/display-text";
import { maskSecrets } from "#lib/protocol/text/mask-secrets";
import type { WebhookFormat } from "#lib/protocol/webhook/webhook";
import type { Context } from "#lib/services/approvals/context";
import { readRequestFacts } from "#lib/services/approvals/read";
import { findAuthorization } from "#lib/services/approvals/rows";

export type ChatFormat = Exclude<WebhookFormat, "standard">;

interface ChatMessage {
  /** Shown on lock screens too: what happened and the agent's name, no content. */
  title: string;
  facts: readonly { label: string; text: string }[];
  link: string;
}

const maxText = 300;

/** Quotes somebody else's words: never a link, never a secret as we know their forms, and not all of them. */
function quote(text: string): string {
  const characters = [...toUnlinkedText(maskSecrets(text))];
  return characters.length <= maxText ? characters.join("") : `${characters.slice(0, maxText).join("")}…`;
}

const titles: Record<string, (agent: string) => string> = {
  "authorization.requested": (agent) => `${agent} asks for an approval`,
  "authorization.approved": (agent) => `Approved: a request of ${agent}`,
  "authorization.denied": (agent) => `Denied: a request of ${agent}`,
  "authorization.expired": (agent) => `Expired: a request of ${agent}`,
  "authorization.cancelled": (agent) => `Cancelled: a request of ${agent}`,
  "authorization.question": (agent) => `An approver asks about a request of ${agent}`,
  "authorization.unattested": (agent) => `No attestation followed an approval of ${agent}`,
  "authorization.revoked": (agent) => `Taken back: an approval of ${agent}`,
  "attestation.created": (agent) => `${agent} recorded an action`,
};

const shown: readonly FactId[] = [
  ...(["amount", "payee", "title", "what", "tool", "agent", "source", "requester", "changed"] as const),
  ...(["decided", "people", "limits", "decided_at", "not_proven"] as const),
];

function describe(type: string, facts: Facts, link: string): ChatMessage {
  const title = titles[type]?.(quote(facts.agent ?? "an agent")) ?? type;
  return {
    title: `${facts.isTest ? "[TEST] " : ""}${title}`,
    facts: listFacts(facts)
      .filter(({ id }) => shown.includes(id))
      .map(({ label, text }) => ({ label, text: quote(text) })),
    link,
  };
}

async function describeAttestation(context: Context, type: string, organizationId: string, id: string) {
  const [row] = await context.database.db
    .select()
    .from(attestations)
    .where(and(eq(attestations.id, id), eq(attestations.organization_id, organizationId)));
  if (!row?.payload) return null;
  const { predicate } = JSON.parse(utf8Decode(row.payload)) as { predicate: ActionPredicate };
  const object = row.human_authorization && JSON.parse(utf8Decode(row.human_authorization));
  const link = `${context.settings.baseUrl}/portal/attestations/${id}`;
  return describe(type, factsOfReceipt(predicate, object), link);
}

async function describeRequest(context: Context, type: string, organizationId: string, id: string) {
  const row = await findAuthorization(context.database, id);
  // Erased ones have no context.
  if (row === null || row.organization_id !== organizationId || row.context === null) return null;
  const link = `${context.settings.baseUrl}/portal/authorizations/${id}`;
  return describe(type, await readRequestFacts(context, row), link);
}

interface Event {
  type: string;
  data: Record<string, string | number | null>;
}

/** Null if there is nothing left to say: it was erased. */
async function describeEvent(
  context: Context,
  organizationId: string,
  { type, data }: Event,
): Promise<ChatMessage | null> {
  const portal = `${context.settings.baseUrl}/portal`;
  const { request_id, attestation_id, agent_slug, number } = data;
  if (typeof request_id === "string") return describeRequest(context, type, organizationId, request_id);
  if (typeof attestation_id === "string")
    return describeAttestation(context, type, organizationId, attestation_id);
  if (typeof agent_slug === "string") {
    const title = `${quote(agent_slug)} was ${type === "agent.frozen" ? "frozen" : "unfrozen"}`;
    return { title, facts: [], link: `${portal}/agents/${agent_slug}` };
  }
  if (type === "roster.changed")
    return {
      title: `Who can approve has changed: roster ${number}`,
      facts: [],
      link: `${portal}/approvers`,
    };
  return { title: "This is a test message of Countersign", facts: [], link: `${portal}/webhooks` };
}

const openWords = "Open in Countersign";

/** Slack reads `&`, `<` and `>` in text that isn't plain. */
const escapeSlack = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const plain = (text: string) => ({ type: "plain_text", text, emoji: false });

/** docs.slack.dev, Block Kit: a header has 150 characters, a section ten fields. */
function writeSlack({ title, facts, link }: ChatMessage): object {
  const parts = [facts.slice(0, 10), facts.slice(10)].filter((part) => part.length > 0);
  return {
    text: escapeSlack(title),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: "header", text: plain([...title].slice(0, 150).join("")) },
      ...parts.map((part) => ({
        type: "section",
        fields: part.map(({ label, text }) => plain(`${label}\n${text}`)),
      })),
      { type: "section", text: { type: "mrkdwn", text: `<${escapeSlack(link)}|${openWords}>` } },
    ],
  };
}

/** Adaptive Cards 1.4, in the message that Teams' workflows take. */
function writeTeams({ title, facts, link }: ChatMessage): object {
  const run = (text: string, more: object = {}) => ({ type: "TextRun", text, ...more });
  const paragraph = (...inlines: object[]) => ({ type: "RichTextBlock", inlines });
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      paragraph(run(title, { weight: "bolder", size: "medium" })),
      ...facts.map(({ label, text }) => paragraph(run(`${label}: `, { isSubtle: true }), run(text))),
    ],
    actions: [{ type: "Action.OpenUrl", title: openWords, url: link }],
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  return {
    type: "message",
    summary: title,
    attachments: [{ contentType, contentUrl: null, content }],
  };
}

const writers: Record<ChatFormat, (message: ChatMessage) => object> = {
  slack: writeSlack,
  teams: writeTeams,
};

/** `body`: of the message as other receivers get it. Null if there is nothing left to say. */
export async function composeChat(
  context: Context,
  format: ChatFormat,
  { organizationId, body, showsFacts }: { organizationId: string; body: string; showsFacts: boolean },
): Promise<string | null> {
  const message = await describeEvent(context, organizationId, JSON.parse(body) as Event);
  if (message === null) return null;
  return JSON.stringify(writers[format](showsFacts ? message : { ...message, facts: [] }));
}

/** The address of an incoming webhook lets whoever has it write to the chat: what is shown of it is where it leads. */
export function maskAddress(url: string): string {
  return `${new URL(url).origin}/…`;
}
