/** What webhooks announce; apart from their signatures, which pages need not load. */
export const webhookEvents = [
  "authorization.approved",
  "authorization.denied",
  "authorization.expired",
  "authorization.cancelled",
  "authorization.unattested",
  "attestation.created",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];
