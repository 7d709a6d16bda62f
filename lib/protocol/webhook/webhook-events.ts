/** Events that webhooks announce, apart from their signatures, which pages need not load. */
export const webhookEvents = [
  "authorization.approved",
  "authorization.denied",
  "authorization.expired",
  "authorization.cancelled",
  "authorization.unattested",
  "authorization.revoked",
  "agent.frozen",
  "agent.unfrozen",
  "attestation.created",
  "roster.changed",
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];
