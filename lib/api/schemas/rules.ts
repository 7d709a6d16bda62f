/** GET and PUT /v1/rules, POST /v1/rules/simulate (docs/wire.md, Rules). */
import { z } from "zod";
import { rulesModes } from "#lib/protocol/policy/replay";
import { MAX_RULES_BYTES } from "#lib/protocol/policy/rule-context";
import { boundedText, hexHash, timestamp } from "./primitives";

const rulesText = boundedText(0, MAX_RULES_BYTES).meta({
  description:
    "Cedar policies, each with an @id; at most 32,768 bytes, and valid against the schema in the guide",
});
const mode = z.enum(rulesModes, `must be one of ${rulesModes.join(", ")}`).meta({
  description:
    "log_only: decisions are made as before, and what the rules would have said is recorded beside them",
});
const fallback = z.enum(["ask", "deny"], "must be ask or deny").meta({
  description: "if no policy permits a request: people are asked with its own fields, or it is denied",
});
const secondOwner = z.boolean("must be true or false").meta({
  description: "whether the next change needs an owner besides its author, who confirms it in the portal",
});

export const putRulesBody = z
  .strictObject({
    text: rulesText,
    mode,
    fallback: fallback.nullish(),
    require_second_owner: secondOwner.nullish(),
    version: z
      .number("must be a number")
      .int("must be a whole number")
      .min(0, "must be 0 or more")
      .nullish()
      .meta({
        description:
          "the version that you have changed, 0 if there was none: 409 if it is no longer the newest",
      }),
  })
  .meta({ id: "RulesChange" });
export type PutRulesBody = z.infer<typeof putRulesBody>;

export const readRulesQuery = z.strictObject({
  version: z.coerce
    .number("must be a whole number from 1")
    .int("must be a whole number from 1")
    .min(1, "must be a whole number from 1")
    .max(2_147_483_647, "must be a whole number from 1")
    .optional(),
});

const described = {
  hash: hexHash.meta({ description: "hex SHA-256 over the canonical JSON of text and schema" }),
  mode,
  fallback,
  require_second_owner: secondOwner,
  author: z.string().meta({ description: "who wrote it: an email address" }),
  created_at: timestamp,
};

const versionSummary = z.strictObject({
  version: z.number().int(),
  ...described,
  confirmed_by: z.string().nullable(),
});

const version = versionSummary.extend({
  text: z.string(),
  log_origin: z.string(),
  log_index: z.number().int(),
  statement: z.strictObject({
    payload: z.string().meta({ description: "the exact signed bytes, as text" }),
    signature: z.string(),
    envelope_signature: z.string(),
    key_id: z.string(),
  }),
});
export type RulesVersionView = z.infer<typeof version>;

const proposal = z.strictObject({ id: z.uuid(), text: z.string(), ...described });

const warning = z.strictObject({ line: z.number().int(), column: z.number().int(), message: z.string() });
const warnings = z
  .array(warning)
  .meta({ description: "rules of the text that protect less than they seem to" });

export const rulesResponse = z
  .strictObject({
    schema: z.string().meta({ description: "what rules may speak of, in Cedar's schema syntax" }),
    rules: version.nullable().meta({ description: "the newest version, or the one that was asked for" }),
    proposal: proposal.nullable().meta({ description: "a change that waits for a second owner" }),
    versions: z.array(versionSummary).meta({ description: "newest first, at most 100" }),
    warnings: warnings.exactOptional(),
  })
  .meta({ id: "Rules" });
export type RulesWarning = z.infer<typeof warning>;
export type RulesResponse = z.infer<typeof rulesResponse>;

export const simulateBody = z
  .strictObject({ text: rulesText, fallback: fallback.nullish() })
  .meta({ id: "RulesSimulation" });
export type SimulateBody = z.infer<typeof simulateBody>;

const simulated = ["allowed", "asked", "denied"] as const;

const difference = z.strictObject({
  request_id: z.string(),
  created_at: timestamp,
  agent_slug: z.string(),
  tool: z.string().nullable(),
  action: z.string(),
  amount: z.strictObject({ value: z.string(), currency: z.string() }).nullable(),
  was: z.enum(simulated),
  would: z.enum(simulated),
  policy_ids: z.array(z.string()),
  reason: z.enum(["permitted", "forbidden", "nothing_permits", "evaluation_error"]),
  demands: z
    .strictObject({
      approvals: z.number().int(),
      level: z.enum(["none", "device", "orb"]).nullable(),
      groups: z.array(z.strictObject({ group: z.string(), count: z.number().int() })),
    })
    .nullable(),
});

const counts = z.strictObject({
  allowed: z.number().int(),
  asked: z.number().int(),
  denied: z.number().int(),
});

export const simulateResponse = z
  .strictObject({
    requests: z.number().int().meta({ description: "how many of the last 1,000 could be evaluated" }),
    erased: z.number().int().meta({ description: "how many could not, because their content is erased" }),
    was: counts,
    would: counts,
    differences: z.array(difference).meta({
      description:
        "newest first; also requests that people were asked about, if the rules would ask more of them",
    }),
    unused: z.array(z.string()).meta({ description: "policies that decided none of them" }),
    warnings,
  })
  .meta({ id: "RulesSimulationResult" });
export type SimulateResponse = z.infer<typeof simulateResponse>;
