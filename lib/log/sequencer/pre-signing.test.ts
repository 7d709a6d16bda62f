/** Items that wait for their place: who waits with them, in which order they go on, and what a failure says. */
import { describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import type { QueuedItem } from "./item";
import { createPreSigning } from "./pre-signing";

const place = { record: { agent_id: "a", sequence: 1, previous: "0" }, clientGap: null };

interface Named extends QueuedItem {
  name: string;
  refusals: unknown[];
}

/** With a `make`, an item that needs preparation. */
function queue(name: string, agentId: string | undefined, make?: () => Promise<void>): Named {
  const refusals: unknown[] = [];
  const item = { agentId, ...(make && { preparation: { place: null, make } }) };
  return { name, refusals, item, reject: (error: unknown) => void refusals.push(error) } as unknown as Named;
}

const namesOf = (items: readonly QueuedItem[]) => (items as readonly Named[]).map(({ name }) => name);

describe("items that wait for their place", () => {
  it("keep back what comes behind them for the same agent, and nobody else", async () => {
    const released: string[][] = [];
    let end = () => {};
    const made = new Promise<void>((resolve) => (end = resolve));
    const preparing = createPreSigning(
      async () => place,
      (items) => void released.push(namesOf(items)),
    );
    const first = [queue("before", "a"), queue("proof", "a", () => made), queue("behind", "a")];
    const others = [queue("other", "b"), queue("key event", undefined)];
    expect(namesOf(preparing.take([...first, ...others]))).toEqual(["before", "other", "key event"]);
    preparing.begin();
    expect(namesOf(preparing.take([queue("later", "a")]))).toEqual([]);
    expect(preparing.count()).toBe(3);
    end();
    await preparing.settled();
    expect(released).toEqual([["proof", "behind", "later"]]);
    expect(preparing.count()).toBe(0);
  });

  it("are refused alone if they cannot be prepared, as a database out of reach is said everywhere", async () => {
    const released: string[][] = [];
    const unreachable = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const preparing = createPreSigning(
      () => Promise.reject(unreachable),
      (items) => void released.push(namesOf(items)),
    );
    const proof = queue("proof", "a", async () => {});
    expect(preparing.take([proof, queue("behind", "a")])).toEqual([]);
    preparing.begin();
    await preparing.settled();
    expect(proof.refusals).toEqual([expect.any(AppError)]);
    expect(proof.refusals[0]).toMatchObject({ errorName: "service_unavailable" });
    expect(released).toEqual([["behind"]]);
  });
});
