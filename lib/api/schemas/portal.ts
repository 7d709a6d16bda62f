/** The forms of the portal: what each may hold. */

import { z } from "zod";
import { questionLimits } from "#lib/protocol/approval/amendment";
import type { Decider, GrantTerms } from "#lib/protocol/approval/decided-by";
import { authorizationRequestIdPattern } from "#lib/protocol/encoding/bytes";
import type { RulesProblem } from "#lib/protocol/policy/parse-rules";
import type { Suggestion } from "#lib/protocol/policy/suggest";
import { approvalMethods } from "#lib/protocol/statement/human-approval";
import { markColors, markPattern } from "#lib/protocol/text/organization-name";
import { dayMs } from "#lib/protocol/time/time-words";
import { lifetimeSeconds, presentationRequest } from "./attest";
import { authorizationStatuses } from "./authorize";
import { freezeBody, putToolsBody, registerBody, updateIdentityBody } from "./identity";
import {
  type KeyPurpose,
  keyLifetimesDays,
  keyPurposes,
  openingLinkDays,
  overlapHours,
  reviewPercents,
  roleNames,
  scopeNames,
  secondFactors,
  visibilities,
} from "./key-choices";
import { keyRequestBody } from "./keys";
import { agentSlug, approverName, boundedText } from "./primitives";
import { putRulesBody, type RulesWarning, type SimulateResponse } from "./rules";
import { createWebhookBody } from "./webhooks";

const email = keyRequestBody.shape.email;
const id = z.uuid("must be an id");
const checked = z.literal("on").optional();
const emptyAsAbsent = (value: unknown) => (value === "" ? undefined : value);
const optional = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(emptyAsAbsent, schema.optional());
const emptyAsNull = (value: unknown) => (value === "" ? null : value);
const nullable = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(emptyAsNull, schema.nullable());
/** Check boxes: one that is on comes alone, none comes not at all. */
const boxes = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === undefined ? [] : [value].flat()), schema);
const role = z.enum(roleNames, "must be one of the roles");

export const stepForm = z.object({});

export const signInForm = z.object({ email, next: z.string().max(200).optional() });
/** Parameters of a mailed link; anything else was never mailed. */
export const signInLink = z.object({ token: z.string().min(1).max(200), email });

const perDay = optional(
  z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(10_000_000, "must be at most 10,000,000"),
);

const isPurpose = (value: unknown): value is KeyPurpose =>
  typeof value === "string" && Object.hasOwn(keyPurposes, value);

const ownKeyForm = z.object({
  name: boundedText(1, 100),
  scopes: boxes(
    z
      .array(z.enum(scopeNames, "is not a permission"))
      .min(1, "choose at least one permission")
      .refine(
        (scopes) =>
          !scopes.includes("hook") || scopes.every((scope) => scope === "hook" || scope === "record"),
        "choose hook alone, or with record: with other permissions, a coding agent could do more than its hook needs",
      )
      .refine(
        (scopes) => !scopes.includes("scim") || scopes.length === 1,
        "choose scim alone: the directory needs nothing else",
      ),
  ),
  lifetime_days: optional(z.enum(keyLifetimesDays, "must be one of the choices")),
  per_day: perDay,
});

/** Boxes that are ticked count only if no purpose chooses the permissions. */
export const createKeyForm = z.preprocess((form) => {
  const { purpose } = form as { purpose?: unknown };
  return isPurpose(purpose) ? { ...(form as object), scopes: keyPurposes[purpose] } : form;
}, ownKeyForm);

export const keyForm = z.object({ key_id: id });
export const limitKeyForm = z.object({ key_id: id, per_day: perDay });
export const rotateKeyForm = z.object({
  key_id: id,
  overlap_hours: z.enum(overlapHours, "must be one of the choices"),
});

export const organizationForm = z.object({
  name: boundedText(1, 100),
  default_public: z.enum(visibilities),
  mark_text: optional(z.string().regex(markPattern, "must be one or two letters or digits")),
  mark_color: optional(z.enum(markColors, "must be one of the choices")),
  /** Content of notifications on approvers' devices that shows without unlocking. */
  lock_screen: z.enum(["facts", "nothing"]),
});
export const organizationNameForm = z.object({
  name: boundedText(1, 100),
  default_public: z.enum(visibilities),
});
export const domainForm = z.object({ domain: boundedText(1, 300) });
export const domainIdForm = z.object({ domain_id: id });
export const inviteForm = z.object({ email, role });
export const invitationIdForm = z.object({ invitation_id: id });
export const memberForm = z.object({ user_id: boundedText(1, 100), revoke_keys: checked });
export const memberRoleForm = z.object({ user_id: boundedText(1, 100), role });
export const providerGroupForm = z.object({
  name: boundedText(1, 256),
  role: optional(role),
  group_id: optional(id),
});
export const providerGroupNameForm = z.object({ name: boundedText(1, 256) });
export const secondFactorForm = z.object({
  factors: boxes(z.array(z.enum(secondFactors, "must be one of the choices"))),
});
export const deleteOrganizationForm = z.object({ confirmation: z.string().max(200) });
export const retentionForm = z.object({
  days: optional(
    z.coerce
      .number("must be a number")
      .int("must be a whole number")
      .min(7, "must be at least 7")
      .max(36_500, "must be at most 36,500"),
  ),
});
export const legalHoldForm = z.object({ reason: boundedText(1, 300) });
export const switchOrganizationForm = z.object({ organization_id: id });
export const authorizationForm = z.object({
  request_id: z.string().regex(authorizationRequestIdPattern, "must be a request's id"),
});
export const acceptInvitationForm = z.object({
  token: z.string().regex(/^[A-Za-z0-9_-]{43}$/, "must be a token"),
});

/* The portal's forms for agents: text fields, turned into the very bodies of the API (identity.ts). */

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const lines = (value: unknown) =>
  typeof value === "string"
    ? value
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
    : [];

export const registerAgentForm = z.preprocess((value) => {
  if (!isFields(value)) return value;
  const tools = lines(value["tools"]);
  const given = Object.entries(value).filter(([name, text]) => name !== "tools" && text !== "");
  return { ...Object.fromEntries(given), ...(tools.length > 0 && { tools }) };
}, registerBody);

/** The form has every field, so an empty one clears what was there. */
export const agentProfileForm = z.preprocess(
  (value) => {
    if (!isFields(value)) return value;
    const { slug, ...profile } = value;
    const cleared = Object.entries(profile).map(([name, text]) => [name, text === "" ? null : text]);
    return { slug, profile: Object.fromEntries(cleared) };
  },
  z.object({
    slug: agentSlug,
    profile: updateIdentityBody.pick({ name: true, description: true, code_hash: true, model_id: true }),
  }),
);

export const agentKeyForm = z.object({
  slug: agentSlug,
  public_key_pem: z.string().trim().min(1, "paste a public key, or generate one").max(1000),
  proof_of_possession: z.preprocess(
    (value) => (value === "" ? undefined : value),
    updateIdentityBody.shape.proof_of_possession,
  ),
});

export const agentSlugForm = z.object({ slug: agentSlug });

export const agentToolsForm = z.object({
  slug: agentSlug,
  tools: z.preprocess(lines, putToolsBody.shape.tools),
});

export const freezeAgentForm = z.object({ slug: agentSlug, reason: freezeBody.shape.reason });
export const unfreezeAgentForm = z.object({
  slug: agentSlug,
  reason: optional(freezeBody.shape.reason),
});

/* The portal's list of attestations: filters of its address bar, columns of its exports. */

/** A day that has a day after it. */
const day = z.iso.date().refine((text) => text >= "0001-01-01" && text < "9999-12-31");
/** A filter that is empty or makes no sense is no filter: an address that a person edited still shows a list. */
const filter = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

export const attestationFilters = z.object({
  q: filter(boundedText(1, 1000)),
  agent: filter(agentSlug),
  visibility: filter(z.enum(["public", "private"])),
  approval: filter(z.enum(approvalMethods)),
  warnings: filter(z.enum(["true", "false"])),
  from: filter(day),
  until: filter(day),
});

export type AttestationFilters = z.output<typeof attestationFilters>;

export const cursorId = filter(z.uuid());
export const cursorText = filter(z.string().regex(/^[A-Za-z0-9_-]{1,200}$/));

export const exportFormats = ["csv", "ndjson"] as const;
export type ExportFormat = (typeof exportFormats)[number];
export const exportFormat = z.enum(exportFormats).catch("ndjson");

const disclosable = presentationRequest.shape;

export const attestationForm = z.object({ attestation_id: z.uuid() });

export const presentationForm = z.object({
  attestation_id: z.uuid(),
  disclose: boxes(disclosable.disclose),
  audience: disclosable.audience,
  nonce: disclosable.nonce,
  expires_in: z.coerce.number().pipe(lifetimeSeconds),
});

/* The portal's forms about approvers: who they are, and which emails each gets. */

export const approverForm = z.object({ name: approverName, email: keyRequestBody.shape.email });
export const approverIdForm = z.object({ approver_id: id });

export const groupForm = z.object({
  group_id: z.preprocess(emptyAsNull, id.nullish()),
  name: approverName,
  members: boxes(z.array(id).max(100)),
});
export const escalationForm = z.object({
  group_id: id,
  after: nullable(z.coerce.number("must be a whole number of minutes").int().min(1).max(1_440)),
  /** Member and turn. */
  turns: boxes(z.array(z.string().regex(/^[0-9a-f-]{36} [1-9]$/)).max(100)),
  last_resort: nullable(id),
});
export const groupIdForm = z.object({ group_id: id });
export const defaultGroupForm = z.object({ group_id: nullable(id) });

export const passkeyIdForm = z.object({ approver_id: id, passkey_id: id });
export const attentionForm = z.object({ group_id: id, measured: z.enum(["yes", "no"]) });
export const plantedForm = z.object({
  group_id: id,
  per_month: nullable(
    z.coerce
      .number("must be a whole number")
      .int("must be a whole number")
      .min(1, "must be 1-20")
      .max(20, "must be 1-20"),
  ),
});
export const requesterForm = z.object({ requester_may_approve: z.enum(["yes", "no"]) });

const noticeRequests = ["all", "named", "none"] as const;
export const noticeForm = z.object({
  organization_id: id,
  requests: z.enum(noticeRequests, "must be one of the choices"),
  decisions: checked,
  reminders: checked,
  titles: checked,
});

const dayText = z.iso.date("must be a date");
export const deputyForm = z.object({
  approver_id: id,
  deputy_id: id,
  from: z.union([z.literal("").transform(() => null), dayText]),
  until: dayText,
});
export const endDeputyForm = z.object({ approver_id: id });

export const inboxFilters = z.object({
  show: z.enum(["waiting", "decided"]).catch("waiting"),
  cursor: cursorText,
});

/* The audit log's filter. */

export const actorKinds = ["user", "key", "human", "system"] as const;
export type ActorKind = (typeof actorKinds)[number];

export const auditFilters = z.object({
  kind: filter(z.enum(actorKinds)),
  from: filter(day),
  until: filter(day),
});
export type AuditFilters = z.output<typeof auditFilters>;

/* The portal's list of authorization requests. */

export const answerForm = authorizationForm.extend({
  number: z.coerce.number().int().min(1).max(questionLimits.count),
  answer: boundedText(1, questionLimits.answer),
});

export const revokeForm = authorizationForm.extend({
  reason: optional(boundedText(1, 1000)),
});

export const authorizationFilters = z.object({
  q: filter(boundedText(1, 300)),
  status: z.enum(authorizationStatuses).optional().catch(undefined),
  agent_slug: agentSlug.optional().catch(undefined),
  cursor: cursorText,
});

export interface PersonDecision {
  decision: "approved" | "denied";
  /** The approver's name in the organization; null if only World ID knows the person, or if they only had the link. */
  who: string | null;
  by: "passkey" | "World ID" | "World ID and passkey" | "the link";
  at: string;
}

/* The portal's form for an evidence pack: an agent, and whole days in UTC. */

const packDay = z.iso
  .date("must be a date")
  .refine((text) => text >= "2000-01-01" && text < "9999-12-31", "must be a date after 2000");

export const openingForm = z.object({ opening: z.enum(["payee", "all"]) });
const days = z.enum(openingLinkDays, "must be one of the choices");
export const receiptLinkForm = openingForm.extend({ attestation_id: z.uuid(), days });
export const openingLinkForm = z.object({ link_id: z.uuid() });
/** A form from before it had the field opens nothing. */
const openingChoice = z.enum(["none", "payee", "all"]).default("none");
/** Names between commas or spaces; none: all agents. */
const packAgents = z
  .string()
  .transform((text) => text.split(/[,\s]+/).filter((name) => name !== ""))
  .pipe(z.array(agentSlug).max(100));
/** `until` is the last day of the period. */
const packShape = z.object({
  agent: packAgents,
  from: packDay,
  until: packDay,
  private: z.literal("on").optional(),
  opening: openingChoice,
});
type PackFields = z.output<typeof packShape>;
const isPeriod = ({ from, until }: PackFields) => from <= until;
const noPeriod = { path: ["until"], message: "must not be before the first day" };
const toPack = (form: PackFields) => ({
  agentSlugs: form.agent,
  withPrivate: form.private === "on",
  opening: form.opening,
  period: {
    from: new Date(`${form.from}T00:00:00Z`).toISOString(),
    to: new Date(Date.parse(`${form.until}T00:00:00Z`) + dayMs).toISOString(),
  },
});
export const evidenceForm = packShape.refine(isPeriod, noPeriod).transform(toPack);
export const packLinkForm = packShape
  .extend({ days })
  .refine(isPeriod, noPeriod)
  .transform((form) => ({ pack: toPack(form), days: form.days }));

/* The request log's filters, in the address of its page. */

const statusClasses = ["2", "4", "5"] as const;

/** Looked for whatever it is: what no code or id can be is not found. */
const searchText = filter(z.string().trim().pipe(boundedText(1, 100)));

export const requestFilters = z.object({
  status: filter(z.enum(statusClasses)),
  key: filter(z.uuid()),
  code: searchText,
  id: searchText,
});
export type RequestFilters = z.output<typeof requestFilters>;

/* The portal's form of rules: compared with what happened, or saved. */

const { text, mode } = putRulesBody.shape;

export const rulesForm = z.object({
  text: z.preprocess((value) => (typeof value === "string" ? value.replaceAll("\r\n", "\n") : value), text),
  mode,
  fallback: z.enum(["ask", "deny"], "must be one of the choices"),
  second_owner: z.literal("on").optional(),
  version: z.coerce.number().int().min(0),
  intent: z.enum(["compare", "save"]),
});

export const suggestionForm = z.object({
  policy_id: boundedText(1, 64),
  money: z.enum(["on", "off"], "must be on or off"),
});

export interface ShownSuggestion extends Suggestion {
  /** Newest first. */
  requests: { id: string; created_at: string }[];
  questionsPerWeek: number;
  /** Time that agents waited for these decisions, together. */
  waitedMinutes: number;
  /** Terms of a standing approval for the same; null if none can say it, or one is there or asked for. */
  standing: GrantTerms | null;
}

/** A reason to take a standing approval back, or a rule out; one of its two ids is null. */
export interface TakeBackHint {
  request_id: string | null;
  policy_id: string | null;
  agent_slug: string | null;
  action: string | null;
  why: "unused" | "wider" | "refused" | "budget";
  detail: string;
}

/** Percent of uses that people look at afterwards. */
export interface ReviewRates {
  standing: number;
  rules: Record<string, number>;
}

/** Names of the form's fields: `standing`, and `rule ` with a rule's id. */
export const reviewRatesForm = z
  .looseObject({ standing: z.enum(reviewPercents) })
  .transform((fields): ReviewRates => {
    const given = Object.entries(fields).filter(
      ([name, value]) => name.startsWith("rule ") && reviewPercents.some((percent) => percent === value),
    );
    return {
      standing: Number(fields.standing),
      rules: Object.fromEntries(given.map(([name, value]) => [name.slice(5), Number(value)])),
    };
  });

export const reviewVerdicts = ["fine", "should_ask"] as const;
export type ReviewVerdict = (typeof reviewVerdicts)[number];
export const reviewForm = z.object({
  request_id: z.string().regex(authorizationRequestIdPattern, "must be a request's id"),
  verdict: z.enum(reviewVerdicts, "must be one of the choices"),
});

export interface ReviewedUse {
  request_id: string;
  agent_slug: string;
  title: string;
  decided_at: string;
  /** None: by a standing approval. */
  policy_ids: string[];
}

export const proposalForm = z.object({ proposal_id: z.uuid("must be an id") });

export interface UnfinishedRequest {
  request_id: string;
  created_at: string;
  agent_slug: string;
  action: string;
  tool: string | null;
  amount: { value: string; currency: string } | null;
  isPending: boolean;
  approvedBy: "standing" | Decider["kind"] | null;
  isClaimed: boolean;
  /** Reason why the current rules let nobody approve, claim or use it; null if they do. */
  stop: string | null;
}

export type RulesFormResult =
  | { kind: "problems"; problems: RulesProblem[] }
  | { kind: "compared"; simulation: SimulateResponse }
  | { kind: "saved"; warnings: RulesWarning[] };

/* The portal's search: what its route takes and answers. */

export const searchQuery = z
  .string()
  .trim()
  .min(2)
  .max(300)
  .refine((text) => !text.includes("\0"))
  .optional()
  .catch(undefined);

export interface SearchHit {
  kind: "Key" | "Agent" | "Attestation" | "Authorization" | "Request";
  label: string;
  href: string;
}

/* The forms of the portal's webhooks, and the place in a delivery log. */

const webhook_id = z.uuid("must be an id");
const { url, events } = createWebhookBody.shape;
const checkedEvents = boxes(events);

const facts = { shows_facts: checked };
export const createWebhookForm = z.object({
  url,
  events: checkedEvents,
  format: createWebhookBody.shape.format,
  ...facts,
});
/** An address that isn't shown is left out to stay as it is. */
export const editWebhookForm = z.object({
  webhook_id,
  url: optional(url),
  events: checkedEvents,
  ...facts,
});
export const webhookForm = z.object({ webhook_id });
export const enableWebhookForm = z.object({ webhook_id, enabled: z.enum(["true", "false"]) });
export const rotateWebhookForm = z.object({
  webhook_id,
  overlap_hours: z.enum(overlapHours, "must be one of the choices"),
});
export const replayForm = z.object({
  webhook_id,
  message_id: z.string().regex(/^msg_[0-9a-f]{32}$/, "must be a message's id"),
});

export const deliveryFilters = z.object({ cursor: cursorText });

/* Shown on pages, as services read it. */

/** Next thing to do after an organization's first steps, the first that is left. */
export type NextStepName = "agent_key" | "approvers" | "domain";

/** Counts by UTC day, ending with this one. */
export interface Usage {
  today: number;
  days7: number;
  days30: number;
}

export interface ShownDevice {
  id: string;
  name: string;
  createdAt: string;
  isFailing: boolean;
  /** SHA-256 of the endpoint in base64url: the browser finds itself by it. */
  mark: string;
}

export interface ShownDeputy {
  id: string;
  name: string;
  from: string;
  until: string;
}

export interface Retention {
  days: number | null;
  /** ISO 8601: nothing is erased for its age before. */
  startsAt: string | null;
  /** ISO 8601, and an owner's words; null without a hold. */
  hold: { since: string; reason: string } | null;
}
