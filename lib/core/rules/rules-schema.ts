/** What rules may speak of, and the hash that names a version of an organization's rules. */
import { hexEncode, sha256 } from "#lib/core/encoding/bytes";
import { canonicalBytes } from "#lib/core/encoding/canonical-json";

export const MAX_RULES_BYTES = 32_768;

/**
 * Two actions: `act` is to go ahead without asking anybody, `act_approved` to go ahead if people approve. Amounts are one
 * record, so that one `has` guards all of it; Cedar can't add decimals, so the total is given. What the request carries
 * are tags: `context.details.hasTag("payee") && context.details.getTag("payee") == "Example Ltd"`.
 */
export const rulesSchema = `entity Agent = {
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

/** Hex SHA-256 over the text and what it was validated against. */
export function rulesetHash(text: string): string {
  return hexEncode(sha256(canonicalBytes({ schema: rulesSchema, text })));
}
