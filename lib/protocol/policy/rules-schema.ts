/** Schema of the rules, and the hash that names a version of an organization's rules. */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";

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
export const rulesSchema = firstSchema
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

const hashWith = (schema: string, text: string) => hexEncode(sha256(canonicalBytes({ schema, text })));

/** True if a text may speak of what the schema of 1.0.0 doesn't have. */
export const usesTypes = (text: string): boolean => /\b(?:details_complete|typed)\b/.test(text);

/** Hex SHA-256 over the text and the schema that it needs, so that saved rules keep their hash. */
export const rulesetHash = (text: string): string =>
  hashWith(usesTypes(text) ? rulesSchema : firstSchema, text);

/** True if it is the hash of these rules: 1.0.0 took its schema for every text. */
export const isRulesetHash = (hash: string, text: string): boolean =>
  hash === rulesetHash(text) || hash === hashWith(firstSchema, text);
