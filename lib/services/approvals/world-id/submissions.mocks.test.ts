/** Retries of one organization leave places for the others'. The store is the test's own, and each attempt puts its proof off. */
import { expect, it, vi } from "vitest";
import type { Context } from "#lib/services/approvals/context";
import type { DueSubmission } from "./store-submissions";
import * as store from "./store-submissions";
import { createRetries } from "./submissions";

vi.mock("./store-submissions");

const dueOf = (organizationId: string, count: number): DueSubmission[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `${organizationId}-${i}`,
    requestId: `request-${organizationId}-${i}`,
    organizationId,
    client: null,
  }));

it("tries four of one organization at once and eight of all, whoever has many waiting", async () => {
  const running = new Set<string>();
  const ends: (() => void)[] = [];
  vi.mocked(store.findDue).mockResolvedValue([
    ...dueOf("many", 10),
    ...dueOf("one", 1),
    ...dueOf("several", 6),
  ]);
  vi.mocked(store.claimSubmission).mockImplementation(async (_, id) => ({ id }) as never);
  vi.mocked(store.postponeSubmission).mockImplementation(async (_, { id }) => {
    running.add(id);
    await new Promise<void>((end) => ends.push(end));
    running.delete(id);
  });
  const countOf = (organization: string) => [...running].filter((id) => id.startsWith(organization)).length;
  const highest = { many: 0, all: 0 };
  const round = createRetries({ logger: { error: () => {} } } as unknown as Context).run();
  await expect.poll(() => running.size).toBe(8);
  expect([countOf("many"), countOf("one"), countOf("several")]).toEqual([4, 1, 3]);
  for (let ended = 0; ended < 17; ended += 1) {
    await expect.poll(() => ends.length, { interval: 5 }).toBeGreaterThan(0);
    highest.many = Math.max(highest.many, countOf("many"));
    highest.all = Math.max(highest.all, running.size);
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await round;
  expect(store.postponeSubmission).toHaveBeenCalledTimes(17);
  expect(highest).toEqual({ many: 4, all: 8 });
});
