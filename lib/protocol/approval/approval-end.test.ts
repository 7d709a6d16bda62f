/** Guarantee: pages and answers end an approval when the service and the verifiers do. */
import { expect, it } from "vitest";
import { findEnd } from "./approval-end";

const [before, end, after] = ["05.677", "05.678", "05.679"].map((seconds) => `2026-11-21T03:04:${seconds}Z`);

it("ends after its last millisecond, and a standing approval before it", () => {
  const endsAt = (ends: Parameters<typeof findEnd>[0]) =>
    [before, end, after].map((now) => findEnd(ends, now ?? "") !== null);
  expect(endsAt({ usable_until: end })).toEqual([false, false, true]);
  expect(endsAt({ usable_until: null, grant: { expires_at: end ?? "" } })).toEqual([false, true, true]);
  expect(endsAt({ usable_until: end, grant: { expires_at: after ?? "" } })).toEqual([false, true, true]);
  expect(endsAt({ usable_until: null, grant: null })).toEqual([false, false, false]);
});
