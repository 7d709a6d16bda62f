/** Webhooks: endpoints, their deliveries, and the messages that are sent (docs/wire.md, Webhooks). */
import { z } from "zod";
import { webhookEvents, webhookFormats } from "#lib/protocol/webhook/webhook";
import { httpUri } from "./authorize";
import { cursorQuery, timestamp } from "./primitives";

/** Hours for which the secret before a rotation signs as well. */
const maxOverlapHours = 168;
const usualOverlapHours = 24;

const url = httpUri
  .max(2048, "must be at most 2,048 characters")
  .meta({ format: "uri", description: "https; http only to this machine, while the World ID stand-in runs" });

const webhookEvent = z
  .enum(webhookEvents, `must be one of ${webhookEvents.join(", ")}`)
  .meta({ id: "WebhookEvent" });
const events = z
  .array(webhookEvent)
  .min(1, "must name at least one event")
  .max(webhookEvents.length, "must name each event once")
  .refine((names) => new Set(names).size === names.length, "must name each event once")
  .meta({ uniqueItems: true });

const format = z.enum(webhookFormats, `must be one of ${webhookFormats.join(", ")}`);
const showsFacts = z.boolean("must be true or false");

export const createWebhookBody = z
  .strictObject({
    url: url.meta({
      description:
        "https; http only to this machine, while the World ID stand-in runs. For a chat: its incoming webhook",
    }),
    events,
    format: format.nullish().meta({
      description:
        "`standard` (default): signed messages of ids and states; `slack`, `teams`: for people in a chat",
    }),
    shows_facts: showsFacts.nullish().meta({
      description: "of a chat: whether messages say amount, payee, action and who decided; default true",
    }),
  })
  .meta({ id: "WebhookCreation" });
export type CreateWebhookBody = z.infer<typeof createWebhookBody>;

export const updateWebhookBody = z
  .strictObject({
    url: url.nullish(),
    events: events.nullish(),
    enabled: z.boolean("must be true or false").nullish(),
    shows_facts: showsFacts.nullish(),
  })
  .meta({ id: "WebhookUpdate" });
export type UpdateWebhookBody = z.infer<typeof updateWebhookBody>;

export const rotateWebhookBody = z
  .strictObject({
    overlap_hours: z
      .number("must be a number")
      .int("must be a whole number")
      .min(0, `must be 0-${maxOverlapHours}`)
      .max(maxOverlapHours, `must be 0-${maxOverlapHours}`)
      .nullish()
      .transform((hours) => hours ?? usualOverlapHours),
  })
  .meta({ id: "WebhookRotation" });

const webhookFields = {
  id: z.uuid(),
  url: z.string().nullable().meta({
    description:
      "null for the callbacks, whose requests name their own; of a chat only where it leads, because whoever has the rest can write there",
  }),
  events: z.array(webhookEvent),
  format: z.enum(webhookFormats),
  shows_facts: z.boolean(),
  enabled: z.boolean(),
  disabled_reason: z
    .enum(["owner", "gone", "failing"])
    .nullable()
    .meta({ description: "`gone`: it answered 410; `failing`: it failed for days" }),
  failing_since: timestamp.nullable(),
  public_key: z
    .string()
    .nullable()
    .meta({
      description:
        "of `v1a` signatures; null if the server can't read the endpoint's keys any more: rotate them",
      examples: ["whpk_…"],
    }),
  old_keys_until: timestamp
    .nullable()
    .meta({ description: "until then, the keys before the last rotation sign as well" }),
  created_at: timestamp,
};

export const webhook = z.strictObject(webhookFields).meta({ id: "Webhook" });
export type Webhook = z.infer<typeof webhook>;

export const webhookWithSecret = z
  .strictObject({
    ...webhookFields,
    secret: z.string().meta({ description: "of `v1` signatures; shown only here", examples: ["whsec_…"] }),
  })
  .meta({ id: "WebhookWithSecret" });
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>;

export const webhookList = z.strictObject({ webhooks: z.array(webhook) });
export const webhookDeleted = z.strictObject({ id: z.uuid(), message: z.string() });

const deliveryStatuses = ["pending", "delivered", "failed"] as const;

export const listDeliveriesQuery = cursorQuery.extend({
  status: z.enum(deliveryStatuses, `must be one of ${deliveryStatuses.join(", ")}`).optional(),
});

export const webhookDelivery = z
  .strictObject({
    message_id: z.string().meta({ description: "the header `webhook-id`", examples: ["msg_…"] }),
    type: z.string(),
    url: z.string().nullable(),
    status: z.enum(deliveryStatuses),
    attempts: z.number().int(),
    last_attempt_at: timestamp.nullable(),
    last_status: z.number().int().nullable().meta({ description: "the HTTP status, if there was an answer" }),
    last_problem: z.string().nullable(),
    next_attempt_at: timestamp.nullable(),
    created_at: timestamp,
    body: z.string().meta({
      description: "the exact text that is sent and signed; a chat gets its facts in words instead",
    }),
  })
  .meta({ id: "WebhookDelivery" });
export type WebhookDelivery = z.infer<typeof webhookDelivery>;

export const webhookDeliveryList = z.strictObject({
  deliveries: z.array(webhookDelivery),
  next_cursor: z.string().nullable(),
});
