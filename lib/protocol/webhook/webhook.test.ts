/** Guarantee: a receiver takes what its endpoint's secret signed, lately, and nothing else. */
import { describe, expect, it } from "vitest";
import { signWithSecret, signWithSeed, verifyWithSecret, type WebhookMessage, writeSecret } from "./webhook";

const bytes = new Uint8Array(32).fill(7);
const other = new Uint8Array(32).fill(8);
const now = 1_800_000_000;
const message: WebhookMessage = { id: "msg_1", timestamp: now, body: '{"type":"webhook.test"}' };
const signatures = `v1,other ${signWithSecret(message, bytes)} ${signWithSeed(message, other)}`;
const isTaken = (changes: Partial<WebhookMessage>, list = signatures, secret = bytes, at = now) =>
  verifyWithSecret({ ...message, ...changes }, list, writeSecret(secret), at);

describe("a webhook", () => {
  it("is taken if one of its signatures is the secret's", () => {
    expect(isTaken({})).toBe(true);
  });

  it.each([
    ["another id", { id: "msg_2" }],
    ["another time", { timestamp: now + 1 }],
    ["another body", { body: `${message.body} ` }],
  ])("is refused with %s", (_what, changes) => {
    expect(isTaken(changes)).toBe(false);
  });

  it("is refused with another's secret, another's signature, or none", () => {
    expect(isTaken({}, signatures, other)).toBe(false);
    for (const list of ["", "v1,", signWithSecret(message, other), signWithSeed(message, bytes)])
      expect([list, isTaken({}, list)]).toEqual([list, false]);
  });

  it("is taken for five minutes by either clock, and is then a replay", () => {
    const at = [-301, -300, 300, 301].map((seconds) => isTaken({}, signatures, bytes, now + seconds));
    expect(at).toEqual([false, true, true, false]);
  });
});
