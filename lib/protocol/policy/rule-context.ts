/**
 * Input of rules: one canonical, salted document whose hash the decision names. With it and the rules anyone can evaluate
 * again.
 */
import { readTypes, type SignedDetails } from "#lib/protocol/approval/shown-content";
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { textAsRead } from "#lib/protocol/text/display-text";
import type { CedarCall, CedarValue } from "./cedar";

export interface RuleAmount {
  value: string;
  currency: string;
  /** Total of this agent's approved requests of the UTC day in this currency, before this one. */
  spent_today: string;
  total_today: string;
}

export interface RuleContext {
  /** base64 of 16 random bytes: the hash in a public object gives nothing away. */
  salt: string;
  agent: { slug: string; name: string | null; key_registered: boolean; code_hash_known: boolean };
  tool: string | null;
  action: string;
  amount: RuleAmount | null;
  context: Record<string, string>;
  /** Statement of the gate about the context; absent, it is all there is, and untyped. */
  details?: SignedDetails;
  requester: string | null;
  hour_utc: number;
  /** 1 is Monday. */
  weekday_utc: number;
  /** Number of this agent's approved requests of this UTC day, before this one. */
  uses_today: number;
  environment: string;
  /** The texts are compared as people read them, because that is stricter here than comparing what was sent. */
  texts_as_read?: true;
}

/** Names that are read alike: the one that was not sent in this form counts, because the other one is compared as sent. */
const detailsAsRead = (context: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(context)
      .map(([name, value]) => [textAsRead(name), textAsRead(value), name] as const)
      .sort(([a, , sentA], [b, , sentB]) => Number(a !== sentA) - Number(b !== sentB))
      .map(([name, value]) => [name, value]),
  );

const textsAsRead = ({ action, tool, requester, context }: RuleContext) => ({
  action: textAsRead(action),
  tool: tool === null ? null : textAsRead(tool),
  requester: requester === null ? null : textAsRead(requester),
  context: detailsAsRead(context),
});

export function isSentAsRead(context: RuleContext): boolean {
  const { action, tool, requester, context: details } = context;
  const texts = [action, tool ?? "", requester ?? "", ...Object.entries(details).flat()];
  return texts.every((text) => text === textAsRead(text));
}

export function ruleContextHash(context: RuleContext): string {
  return hexEncode(sha256(canonicalBytes(context as unknown as JsonObject)));
}

export function readHours(at: Date): Pick<RuleContext, "hour_utc" | "weekday_utc"> {
  return { hour_utc: at.getUTCHours(), weekday_utc: at.getUTCDay() || 7 };
}

/** Cedar wants digits on both sides of the point. */
const decimal = (value: string): CedarValue => ({
  __extn: { fn: "decimal", arg: value.includes(".") ? value : `${value}.0` },
});

function cedarAmount({ value, currency, spent_today, total_today }: RuleAmount): CedarValue {
  return {
    value: decimal(value),
    currency,
    spent_today: decimal(spent_today),
    total_today: decimal(total_today),
  };
}

const details = { type: "Details", id: "" };
const typed = {
  strings: { type: "Details", id: "strings" },
  longs: { type: "Longs", id: "" },
  bools: { type: "Bools", id: "" },
  decimals: { type: "Decimals", id: "" },
};

type Tags = Record<string, CedarValue>;

function typedTags(context: RuleContext, toRead: (text: string) => string): Record<keyof typeof typed, Tags> {
  const read = context.details && readTypes(context.details, context.context);
  const tags = (entries: [string, string][] = [], toValue: (text: string) => CedarValue): Tags =>
    Object.fromEntries(entries.map(([name, text]) => [toRead(name), toValue(text)]));
  const numbers = read?.number;
  return {
    strings: tags(read?.string, toRead),
    longs: tags(
      numbers?.filter(([, text]) => !text.includes(".")),
      Number,
    ),
    bools: tags(read?.boolean, (text) => text === "true"),
    decimals: tags(numbers, decimal),
  };
}

function typedEntities(context: RuleContext): CedarCall["entities"] {
  const tags = typedTags(context, context.texts_as_read ? textAsRead : (text) => text);
  return Object.entries(typed).map(([name, uid]) => ({
    uid,
    attrs: {},
    parents: [],
    tags: tags[name as keyof typeof typed],
  }));
}

/** A request that names no tool asks for the tool of the empty name. */
export function cedarCall(context: RuleContext, action: "act" | "act_approved"): CedarCall {
  const { agent, amount, hour_utc, weekday_utc, uses_today, environment } = context;
  const texts = context.texts_as_read ? textsAsRead(context) : context;
  const { requester } = texts;
  const principal = { type: "Agent", id: agent.slug };
  const { key_registered, code_hash_known } = agent;
  return {
    principal,
    action: { type: "Action", id: action },
    resource: { type: "Tool", id: texts.tool ?? "" },
    context: {
      action: texts.action,
      ...(amount && { amount: cedarAmount(amount) }),
      details: { __entity: details },
      details_complete: context.details?.complete ?? true,
      details_count: Object.keys(context.context).length,
      typed: Object.fromEntries(Object.entries(typed).map(([name, uid]) => [name, { __entity: uid }])),
      ...(requester !== null && { requester }),
      ...{ hour_utc, weekday_utc, uses_today, environment },
    },
    entities: [
      {
        uid: principal,
        attrs: { key_registered, code_hash_known, ...(agent.name !== null && { name: agent.name }) },
        parents: [],
      },
      { uid: details, attrs: {}, parents: [], tags: texts.context },
      ...typedEntities(context),
    ],
  };
}

/* Schema of the rules, and the hash that names a version of an organization's rules. */

export const MAX_RULES_BYTES = 32_768;

/**
 * Two actions: `act` is to go ahead without asking anybody, `act_approved` to go ahead if people approve. Amounts are one
 * record, so that one `has` guards all of it; Cedar can't add decimals, so the total is given. What the request carries
 * are tags: `context.details.hasTag("payee") && context.details.getTag("payee") == "Example Ltd"`.
 */
const firstSchema = `entity Agent = {
  name?: String,
  key_registered: Bool,
  code_hash_known: Bool,
};
entity Tool;
entity Details tags String;
action act, act_approved appliesTo {
  principal: Agent,
  resource: Tool,
  context: {
    action: String,
    amount?: {
      value: decimal,
      currency: String,
      spent_today: decimal,
      total_today: decimal,
    },
    details: Details,
    requester?: String,
    hour_utc: Long,
    weekday_utc: Long,
    uses_today: Long,
    environment: String,
  },
};
`;

/**
 * Schema of 1.0.0 plus the gate's statements about details: `details_complete`, and typed values. Every number is among
 * the decimals, whole ones among the longs too.
 */
const typedSchema = firstSchema
  .replace(
    "entity Details tags String;",
    "entity Details tags String;\nentity Longs tags Long;\nentity Bools tags Bool;\nentity Decimals tags decimal;",
  )
  .replace(
    "details: Details,",
    `details: Details,
    details_complete: Bool,
    typed: {
      strings: Details,
      longs: Longs,
      bools: Bools,
      decimals: Decimals,
    },`,
  );

/** Plus the number of names in the context as it was sent: a rule can say that there are no others. */
export const rulesSchema = typedSchema.replace(
  "details_complete: Bool,",
  "details_complete: Bool,\n    details_count: Long,",
);

const hashWith = (schema: string, text: string) => hexEncode(sha256(canonicalBytes({ schema, text })));

/** True if a text may speak of what the schema of 1.0.0 doesn't have. */
export const usesTypes = (text: string): boolean => /\b(?:details_complete|typed)\b/.test(text);

/** Hex SHA-256 over the text and the schema that it needs, so that saved rules keep their hash. */
export const rulesetHash = (text: string): string =>
  hashWith(/\bdetails_count\b/.test(text) ? rulesSchema : usesTypes(text) ? typedSchema : firstSchema, text);

/** True if it is the hash of these rules: 1.0.0 took its schema for every text. */
export const isRulesetHash = (hash: string, text: string): boolean =>
  hash === rulesetHash(text) || hash === hashWith(firstSchema, text);
