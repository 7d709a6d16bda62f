/** Items that wait for their place: who waits with them, in which order they go on, and what a failure says. */
import { describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import type { Place, QueuedEntry } from "./entry";
import { createPreSigning } from "./sequencer";

const place = { record: { agent_id: "a", sequence: 1, previous: "0" }, clientGap: null };

interface Named extends QueuedEntry {
  name: string;
  refusals: unknown[];
}

const kind = { kind: "attestation" };

/** With a `make`, an item that needs preparation. */
function queue(name: string, agentId: string | undefined, make?: () => Promise<void>): Named {
  const refusals: unknown[] = [];
  const item = { agentId, ...(make && { preparation: { place: null, make } }) };
  const reject = (error: unknown) => void refusals.push(error);
  return { name, refusals, kind, item, reject } as unknown as Named;
}

const namesOf = (items: readonly QueuedEntry[]) => (items as readonly Named[]).map(({ name }) => name);

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
    expect(["a", "b", undefined].map(preparing.holds)).toEqual([true, false, false]);
    end();
    await preparing.settled();
    expect(released).toEqual([["proof", "behind", "later"]]);
    expect(preparing.count()).toBe(0);
    expect(preparing.holds("a")).toBe(false);
  });

  it("wait once more if they were prepared for another agent's record", async () => {
    const released: string[][] = [];
    const preparing = createPreSigning(
      async ({ agentId }) => ({ ...place, record: { ...place.record, agent_id: String(agentId) } }),
      (items) => void released.push(namesOf(items)),
    );
    const made: unknown[] = [];
    const proof = queue("proof", "a");
    const preparation = {
      place: null as Place | null,
      make: async (at: Place) => {
        preparation.place = at;
        made.push(at.record.agent_id);
      },
    };
    proof.item.preparation = preparation;
    const isKept = async (...behind: Named[]) => {
      const isTaken = preparing.take([proof, ...behind]).includes(proof);
      preparing.begin();
      if (!isTaken) await preparing.settled();
      return !isTaken;
    };
    expect([await isKept(), await isKept()]).toEqual([true, false]);
    proof.item.agentId = "b";
    expect([await isKept(queue("behind", "b")), await isKept()]).toEqual([true, false]);
    expect(made).toEqual(["a", "b"]);
    expect(released).toEqual([["proof"], ["proof", "behind"]]);
  });

  it("share their agent with those that come later to a slug that nobody has claimed yet", () => {
    const preparing = createPreSigning(
      async () => place,
      () => {},
    );
    const ofOneSlug = {
      mergeNewAgents: (items: { agentId: string }[]) => {
        for (const item of items) item.agentId = String(items[0]?.agentId);
      },
    };
    const claim = (name: string, agentId: string, make?: () => Promise<void>) =>
      Object.assign(queue(name, agentId, make), { kind: ofOneSlug });
    expect(preparing.take([claim("proof", "a", async () => {})])).toEqual([]);
    const later = [claim("later", "b"), claim("another proof", "c", async () => {})];
    expect(namesOf(preparing.take([...later, queue("other", "d")]))).toEqual(["other"]);
    expect(later.map(({ item }) => item.agentId)).toEqual(["a", "a"]);
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
