/** The forms of the portal's webhooks, and the place in a delivery log. */
import { z } from "zod";
import { overlapHours } from "./key-choices";
import { cursorText } from "./portal-attestations";
import { createWebhookBody } from "./webhooks";

const webhook_id = z.uuid("must be an id");
const { url, events } = createWebhookBody.shape;
/** Check boxes: one that is on comes alone, none comes not at all. */
const checkedEvents = z.preprocess((value) => (value === undefined ? [] : [value].flat()), events);

export const createWebhookForm = z.object({ url, events: checkedEvents });
export const editWebhookForm = z.object({ webhook_id, url, events: checkedEvents });
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
