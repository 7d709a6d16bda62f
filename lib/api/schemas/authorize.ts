/** Input of POST and GET /v1/authorize (docs/wire.md, Authorization requests). */
import { z } from "zod";
import { findUnamendable, isFieldList, questionLimits } from "#lib/protocol/approval/amendment";
import {
  canonicalAmount,
  currencyPattern,
  findCurrencyMistake,
  writtenAmountPattern,
} from "#lib/protocol/approval/amount";
import { detailTypes, isOfType, writeTypes } from "#lib/protocol/approval/shown-content";
import { textAsRead } from "#lib/protocol/text/display-text";
import {
  action,
  agentSlug,
  approverName,
  boundedAscii,
  boundedText,
  cursorQuery,
  inputsHash,
} from "./primitives";

export const authorizationStatuses = ["pending", "approved", "denied", "expired", "cancelled"] as const;
export type AuthorizationStatus = (typeof authorizationStatuses)[number];

const requestContext = z
  .record(boundedText(1, 64), boundedText(0, 1024))
  .refine((entries) => Object.keys(entries).length <= 32, "must have at most 32 entries")
  .refine(
    (entries) => new Set(Object.keys(entries).map(textAsRead)).size === Object.keys(entries).length,
    "must not have two names that are read alike",
  )
  .meta({
    maxProperties: 32,
    description: "shown to the human beside the action; names of 1-64, values of up to 1,024 characters",
  });

/** An http or https URI of RFC 3986, in its characters: what `URL` would repair is refused. */
const httpUriPattern =
  /^https?:\/\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2}|\[[0-9A-Fa-f:.]+\])+(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*)?$/;

export const httpUri = z
  .string("must be a string")
  .regex(httpUriPattern, "must be an http or https URL")
  .refine((text) => URL.canParse(text), "must be an http or https URL");

export const claimBody = z
  .strictObject({
    run: boundedAscii(128).meta({
      description:
        "your name for this one run of the action: the same in every repeat of the claim, another in every other run",
      examples: ["run-2f6c1d7e"],
    }),
  })
  .meta({ id: "ClaimRequest" });

export const authorizeQuery = z.strictObject({
  run: claimBody.shape.run.optional().meta({
    description:
      "claims the approval for this run of the action if a standing approval or a rule gives it at once, as POST /v1/authorize/{request_id}/claim does",
  }),
});

export const answerBody = z
  .strictObject({
    number: z
      .number("must be a number")
      .int("must be a whole number")
      .min(1, `must be 1-${questionLimits.count}`)
      .max(questionLimits.count, `must be 1-${questionLimits.count}`)
      .meta({ description: "the number of the question, as `question` has it" }),
    answer: boundedText(1, questionLimits.answer).meta({
      description: "shown to approvers as your words, and final",
    }),
  })
  .meta({ id: "Answer" });

export const revokeBody = z
  .strictObject({
    reason: boundedText(1, 1000)
      .nullish()
      .meta({ description: "shown to your organization; only a salted hash of it is signed and logged" }),
  })
  .meta({ id: "RevokeAuthorization" });

const currency = z
  .string("must be a string")
  .regex(currencyPattern, { error: "must be an ISO 4217 code, such as EUR", abort: true });

/** Says at its place what no amount of the currency can be. `values`: canonical, by field. */
function refuseCurrency(
  context: z.RefinementCtx,
  of: string,
  values: Record<string, string | null | undefined>,
): void {
  const unknown = findCurrencyMistake(of, "0");
  if (unknown !== null) context.addIssue({ code: "custom", path: ["currency"], message: unknown });
  else
    for (const [field, value] of Object.entries(values)) {
      const mistake = findCurrencyMistake(of, value ?? "0");
      if (mistake !== null) context.addIssue({ code: "custom", path: [field], message: mistake });
    }
}

export const amount = z
  .strictObject({
    value: z
      .string("must be a string")
      .regex(
        writtenAmountPattern,
        "must be a decimal like 12000.50, with up to 14 digits before the point and 4 after it, without commas, a sign or zeros in front",
      )
      .overwrite(canonicalAmount)
      .meta({ examples: ["1250.50"] }),
    currency: currency.meta({
      description: "a code on the list of ISO 4217; the value has no more decimals than the currency",
      examples: ["EUR"],
    }),
  })
  .superRefine(({ value, currency: of }, context) => refuseCurrency(context, of, { value }))
  .meta({ id: "Amount" });

export const tool = boundedText(1, 128);

const grantAmount = amount.shape.value;
const grantBody = z
  .strictObject({
    tools: z
      .array(tool, "must be an array")
      .min(1, "must have 1-20 entries")
      .max(20, "must have 1-20 entries")
      .nullish(),
    actions: z
      .array(action, "must be an array")
      .min(1, "must have 1-20 entries")
      .max(20, "must have 1-20 entries")
      .nullish()
      .meta({ description: "exact, or a prefix that ends in `*`" }),
    max_calls: z
      .number("must be a number")
      .int("must be a whole number")
      .min(1, "must be 1-10000")
      .max(10_000, "must be 1-10000"),
    max_amount: grantAmount.nullish().meta({ description: "of each use" }),
    max_budget: grantAmount.nullish().meta({ description: "of all uses together" }),
    currency: currency.nullish(),
    expires_at: z
      .string("must be a string")
      .regex(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/,
        "must be a time in UTC, such as 2026-12-01T00:00:00Z",
      )
      .refine(
        (text) => !Number.isNaN(Date.parse(text)),
        "must be a time in UTC, such as 2026-12-01T00:00:00Z",
      )
      .meta({ format: "date-time", description: "at most 90 days away" }),
    context: requestContext
      .nullish()
      .meta({ description: "what the context of each covered request must hold" }),
  })
  .refine(({ tools, actions }) => tools != null || actions != null, "must name tools or actions")
  .refine(
    ({ max_amount, max_budget, currency: of }) =>
      [max_amount, max_budget, of].every((one) => one != null) ||
      [max_amount, max_budget, of].every((one) => one == null),
    "needs max_amount, max_budget and currency together, or none of them",
  )
  .superRefine(({ max_amount, max_budget, currency: of }, context) => {
    if (of != null) refuseCurrency(context, of, { max_amount, max_budget });
  })
  .meta({ id: "GrantRequest" });
const details = z
  .strictObject({
    complete: z.boolean("must be true or false").meta({
      description:
        "whether the context shows everything that the action acts on, each value whole and under its own name",
    }),
    types: z
      .record(boundedText(1, 64), z.enum(detailTypes, "must be string, number or boolean"))
      .refine((types) => Object.keys(types).length <= 32, "must have at most 32 entries")
      .nullish()
      .meta({
        maxProperties: 32,
        description:
          "by name of the context: what type the value has, of which it shows the JSON; rules see it typed",
      }),
  })
  .meta({
    id: "Details",
    description: "what a gate states about the context, for rules; with it the signed object has version 2",
  });

const amendable = z
  .array(z.string("must be a string"), "must be an array")
  .max(33, "must have at most 33 entries")
  .meta({
    uniqueItems: true,
    examples: [["amount", "context.payee"]],
    description:
      "what an approver may change: `amount`, only downwards, and details as `context.NAME`. A change ends this request as cancelled, with `amended_by`; with inputs_hash, the details have to be all of the inputs. Not with grant. The names are public",
  });

export const levels = ["none", "device", "orb"] as const;

export const authorizeBody = z
  .strictObject({
    agent_slug: agentSlug,
    action,
    tool: tool.nullish().meta({
      description: "the tool that would run, as in the agent's manifest; part of what is approved",
    }),
    amount: amount.nullish().meta({ description: "shown first on the approval page" }),
    grant: grantBody.nullish().meta({
      description:
        "asks for a standing approval: later requests within these limits are approved by it, without asking again. Not with amount, tool or inputs_hash",
    }),
    context: requestContext.nullish(),
    details: details.nullish(),
    amendable: amendable.nullish(),
    expires_in_minutes: z
      .number("must be a number")
      .int("must be a whole number")
      .min(1, "must be 1-1440")
      .max(1440, "must be 1-1440")
      .nullish(),
    inputs_hash: inputsHash.nullish(),
    required_level: z.enum(levels, "must be none, device or orb").nullish().meta({
      description:
        "of World ID, `device` by default; `none` only with required_approvers, whose passkeys then decide alone. On a service without World ID (APPROVALS=passkeys) it is `none`, required_approvers or a rule has to name a group, and a level is refused",
    }),
    required_approvers: z
      .array(
        z.strictObject({
          group: approverName.meta({ description: "the name or id of a group of your organization" }),
          count: z
            .number("must be a number")
            .int("must be a whole number")
            .min(1, "must be 1-10")
            .max(10, "must be 1-10")
            .meta({ description: "how many of its members have to approve" }),
        }),
        "must be an array",
      )
      .max(5, "must have at most 5 entries")
      .nullish()
      .meta({
        description:
          "only enrolled members of these groups decide, each person for one group and once; the link alone decides nothing then",
      }),
    usable_for_seconds: z
      .number("must be a number")
      .int("must be a whole number")
      .min(60, "must be 60-2592000")
      .max(2_592_000, "must be 60-2592000")
      .nullish()
      .meta({
        description: "how long the approval can be used once it is given; without it there is no end",
      }),
    approvals_required: z
      .number("must be a number")
      .int("must be a whole number")
      .min(1, "must be 1-10")
      .max(10, "must be 1-10")
      .nullish(),
    requester: boundedText(1, 64).nullish().meta({
      description: "who or what in your organization asks; the approval page shows it as your word",
    }),
    require_code: z.boolean("must be true or false").nullish().meta({
      description:
        "nobody can decide without the confirmation code: the page asks for it and never shows it, and five wrong ones cancel the request",
    }),
    approvers: z
      .array(approverName, "must be an array")
      .max(10, "must have at most 10 entries")
      .nullish()
      .meta({
        description:
          "names or ids of your organization's approvers and groups, who get the link by email; without it the default group does; it is not part of the signed request and gives nobody power",
      }),
    callback_url: httpUri.max(2048).nullish().meta({
      format: "uri",
      description:
        "gets a signed webhook when the request is decided, expires or is cancelled, when its approval is taken back, and when it was claimed and no attestation followed; https, or http to this machine while the World ID stand-in runs",
    }),
  })
  .refine(
    ({ grant, amount: of, tool: one, inputs_hash }) =>
      grant == null || (of == null && one == null && inputs_hash == null),
    { message: "can't be together with amount, tool or inputs_hash", path: ["grant"] },
  )
  .superRefine(({ context, details: said }, issues) => {
    for (const [name, type] of Object.entries(said?.types ?? {})) {
      const text = Object.hasOwn(context ?? {}, name) ? context?.[name] : undefined;
      if (text !== undefined && isOfType(type, text)) continue;
      const message =
        text === undefined
          ? "is not a name in the context"
          : "the context doesn't have it as JSON writes it, in at most 14 digits before the point and 4 after it";
      issues.addIssue({ code: "custom", path: ["details", "types", name], message });
    }
  })
  .superRefine(({ amendable: fields, grant, ...asked }, issues) => {
    if (fields == null || fields.length === 0) return;
    const refuse = (message: string) => issues.addIssue({ code: "custom", path: ["amendable"], message });
    if (!isFieldList(fields.toSorted())) return refuse("must name amount or context.NAME, each once");
    if (grant != null) return refuse("can't be together with grant");
    const { context = {}, details: said, amount: of, inputs_hash } = asked;
    const given = { ...(of && { amount: of }), ...(inputs_hash != null && { inputs_hash }) };
    const signed = said && { complete: said.complete, types: writeTypes(context ?? {}, said.types ?? {}) };
    const problem = findUnamendable(
      { ...given, amendable: fields, ...(signed && { details: signed }) },
      context ?? {},
    );
    if (problem !== null) refuse(problem);
  })
  .meta({ id: "AuthorizeRequest" });

export type AuthorizeBody = z.infer<typeof authorizeBody>;

export const readAuthorizationQuery = z.strictObject({
  wait: z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be 1-25")
    .max(25, "must be 1-25")
    .optional(),
});

export const listAuthorizationsQuery = cursorQuery.extend({
  status: z.enum(authorizationStatuses, `must be one of ${authorizationStatuses.join(", ")}`).optional(),
  agent_slug: agentSlug.optional(),
});
