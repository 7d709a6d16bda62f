/**
 * The lock of all machines, in the order of docs/decisions/0046-one-lock-for-all-machines.md: each crash point by itself, then
 * machines at random on databases that fail, fork and lose commits. What was acknowledged must always be one history.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { logger } from "#lib/logger";
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { ForkGuardError, type SignedHead } from "./fork-guard";
import { createHeadLock, type HeadLock, HeadLockAway } from "./head-lock";

type Fault = "lost" | "stored, then lost" | "stored later";

/** One object store for several machines. `fault` decides about each change. */
function openMemory() {
  const objects = new Map<string, { bytes: Uint8Array; tag: string }>();
  const late: (() => void)[] = [];
  const memory = {
    objects,
    isAway: false,
    fault: (): Fault | null => null,
    hop: async () => {},
    /** Requests that the network kept. */
    deliverLate: () => {
      for (const deliver of late.splice(0)) deliver();
    },
  };
  const requireThere = () => {
    if (memory.isAway) throw new Error("the store is away");
  };
  /** Tag of the content alone, like an ETag. */
  const tagOf = (bytes: Uint8Array) => hexEncode(sha256(bytes));
  const put = (key: string, bytes: Uint8Array) => {
    objects.set(key, { bytes, tag: tagOf(bytes) });
    return tagOf(bytes);
  };
  const swap = (key: string, bytes: Uint8Array, tag: string | null) =>
    (objects.get(key)?.tag ?? null) === tag ? put(key, bytes) : null;
  const store: ObjectStore = {
    name: "memory",
    read: async (key) => {
      await memory.hop();
      requireThere();
      return objects.get(key) ?? null;
    },
    replace: async (key, bytes, tag) => {
      await memory.hop();
      requireThere();
      const fault = memory.fault();
      if (fault === "stored later") late.push(() => void swap(key, bytes, tag));
      const made = fault === null || fault === "stored, then lost" ? swap(key, bytes, tag) : null;
      await memory.hop();
      if (fault !== null) throw new Error(fault);
      return made;
    },
    create: async () => true,
    write: async (key, bytes) => void put(key, bytes),
    list: async () => [],
    close: () => {},
  };
  return { ...memory, memory, store };
}

let drawn = 0;
const openLock = (store: ObjectStore, origin = "example.com/log"): HeadLock => {
  const random = (length: number) => new Uint8Array(length).fill(++drawn % 256);
  return createHeadLock({ store, origin, random, logger });
};

const at = (size: number, digit = "a", logId = 1): SignedHead => ({ logId, size, rootHex: digit.repeat(64) });
const [A, B, C] = [at(10), at(20, "b"), at(30, "c")];
const never = async () => false;

describe("each crash point", () => {
  /** The lock as it is when a machine dies there, and a machine that comes after. */
  async function dieAfter(step: "nothing" | "intent" | "out") {
    const { store, memory } = openMemory();
    const dead = openLock(store);
    await dead.require(A);
    if (step !== "nothing") await dead.intend(A, B);
    if (step === "out") await dead.confirm(B, never);
    return { next: openLock(store), store, memory };
  }

  it.each([
    ["nothing", A, "goes on"],
    ["nothing", B, "is refused"],
    ["intent", A, "goes on"],
    ["intent", B, "goes on"],
    ["intent", C, "is refused"],
    ["intent", at(20, "c"), "is refused"],
    ["out", B, "goes on"],
    ["out", A, "is refused"],
    ["out", at(20, "c"), "is refused"],
    ["out", C, "is refused"],
  ] as const)("after %s, a database at size %o %s", async (step, head, result) => {
    const { next } = await dieAfter(step);
    if (result === "goes on") {
      await next.require(head);
      await next.intend(head, C);
      await next.confirm(C, never);
      expect(await next.readOut()).toEqual(C);
      return;
    }
    await expect(next.require(head)).rejects.toThrow(ForkGuardError);
    await expect(next.intend(head, C)).rejects.toThrow(/new-epoch/);
    const before = await next.readOut();
    expect(before).toEqual(step === "out" ? B : A);
  });

  it("is judged by the lock of now, not by the one that was known", async () => {
    const { store } = openMemory();
    const [one, two] = [openLock(store), openLock(store)];
    await one.require(A);
    await two.intend(A, B);
    await two.confirm(B, never);
    await expect(one.intend(A, C)).rejects.toThrow(ForkGuardError);
    await one.intend(B, C);
    await expect(two.intend(B, at(31))).resolves.toBeUndefined();
    // Another machine built on it, so it is out; and nobody may say so who has it not.
    await one.intend(at(31), at(40));
    await two.confirm(at(31), never);
    await one.confirm(at(40), never);
    await expect(two.confirm(C, never)).rejects.toThrow(ForkGuardError);
    await two.confirm(at(31), async (heads) => heads.length === 2);
  });

  it.each([["lost"], ["stored, then lost"], ["stored later"]] as const)(
    "a change that is %s is found out, or nothing leaves and nothing is stuck",
    async (fault) => {
      for (const step of ["intent", "out"] as const) {
        const { next: lock, store, memory } = await dieAfter("nothing");
        if (step === "out") await lock.intend(A, B);
        memory.fault = () => fault;
        const done = step === "intent" ? lock.intend(A, B) : lock.confirm(B, never);
        const outcome = await done.then(
          () => "done",
          (error: unknown) => error,
        );
        if (fault === "stored, then lost") expect(outcome).toBe("done");
        else expect(outcome).toBeInstanceOf(HeadLockAway);
        memory.fault = () => null;
        memory.deliverLate();
        const held = step === "intent" ? A : B;
        const other = openLock(store);
        await other.intend(held, C);
        await other.confirm(C, never);
        lock.close();
      }
    },
  );

  it("is noted as soon as the store is back, if it was away after the commit", async () => {
    const { next: lock, store, memory } = await dieAfter("nothing");
    await lock.intend(A, B);
    memory.isAway = true;
    await expect(lock.confirm(B, never)).rejects.toThrow(HeadLockAway);
    memory.isAway = false;
    await expect.poll(() => openLock(store).readOut()).toEqual(B);
    await expect(openLock(store).require(A)).rejects.toThrow(ForkGuardError);
    lock.close();
  });
});

describe("the lock", () => {
  it("is made once, of one service, and not where a log is published without it", async () => {
    const { store, objects } = openMemory();
    const lock = openLock(store);
    await lock.require(A);
    await expect(openLock(store, "another.example/log").require(A)).rejects.toThrow(
      /that of the log example/,
    );
    await store.write("head-lock", new Uint8Array(), "lock");
    await expect(lock.require(A)).rejects.toThrow(/can't be read/);
    objects.clear();
    await expect(lock.intend(A, B)).rejects.toThrow(/is missing/);
    await store.write("checkpoint", new Uint8Array(), "checkpoint");
    await expect(openLock(store).require(A)).rejects.toThrow(/is missing/);
  });

  it("lets an operator go on in a new log, which all machines then know", async () => {
    const { store } = openMemory();
    const [lock, other] = [openLock(store), openLock(store)];
    await lock.require(B);
    const epoch = at(1, "e", 2);
    await expect(lock.supersede(A, A, epoch)).rejects.toThrow(/another machine/);
    await lock.supersede(await lock.readOut(), A, epoch);
    // Before the commit only the earlier head is accepted.
    await expect(other.require(A)).rejects.toThrow(ForkGuardError);
    await lock.confirm(epoch, never);
    await expect(other.require(B)).rejects.toThrow(ForkGuardError);
    await other.intend(epoch, at(2, "f", 2));
  });

  it("tells a head that was committed meanwhile from an older one", async () => {
    const { store } = openMemory();
    const [lock, other] = [openLock(store), openLock(store)];
    await lock.require(B);
    await lock.requireSince(async () => {
      await other.intend(B, C);
      return C;
    });
    await expect(lock.requireSince(async () => A)).rejects.toThrow(/older than what was signed/);
    await other.confirm(C, never);
    // A server without the store has signed.
    const D = at(40, "d");
    await expect(lock.requireSince(async () => D)).rejects.toThrow(/without this lock .* empty place/);
    await expect(lock.require(D)).rejects.toThrow(/without this lock .* empty place/);
  });
});

interface Commit extends SignedHead {
  parent: Commit | null;
}

/** A database: its head, and everything below. Losing commits makes another one, which forgets them. */
interface ModelDatabase {
  head: Commit;
  row: Promise<void>;
}

const events = ["append", "append", "append", "append", "die", "fork", "lose acknowledged"] as const;
const step = fc.record({
  machine: fc.nat(2),
  event: fc.constantFrom(...events),
  fault: fc.option(fc.constantFrom<Fault>("lost", "stored, then lost", "stored later"), { freq: 3 }),
  dies: fc.option(fc.constantFrom("before the commit", "after the commit", "after it is out"), { freq: 4 }),
  commit: fc.constantFrom("stored", "stored", "stored", "stored, unknown", "lost"),
  away: fc.boolean(),
});

describe("machines at random", () => {
  const isAncestor = (a: Commit, b: Commit | null): boolean =>
    b !== null && (a === b || isAncestor(a, b.parent));
  const holdsAll = (head: Commit, heads: SignedHead[]) => {
    const sizes = new Map<string, boolean>();
    for (let one: Commit | null = head; one !== null; one = one.parent)
      sizes.set(`${one.size} ${one.rootHex}`, true);
    return heads.every(({ size, rootHex }) => sizes.has(`${size} ${rootHex}`));
  };

  async function play(steps: (typeof step extends fc.Arbitrary<infer S> ? S : never)[], mayLose: boolean) {
    const { store, memory } = openMemory();
    let roots = 0;
    const first: Commit = { ...at(1), parent: null };
    let primary: ModelDatabase = { head: first, row: Promise.resolve() };
    const acknowledged: Commit[] = [];
    const locks = [0, 1, 2].map(() => openLock(store));
    const refused: unknown[] = [];
    memory.hop = () => new Promise((later) => setImmediate(later));

    async function append(one: (typeof steps)[number]): Promise<void> {
      const lock = locks[one.machine] as HeadLock;
      const database = primary;
      const before = database.row;
      let unlock = () => {};
      database.row = new Promise((done) => {
        unlock = done;
      });
      await before;
      const held = database.head;
      roots += 1;
      const next: Commit = {
        logId: 1,
        size: held.size + 1,
        rootHex: String(roots).padStart(64, "0"),
        parent: held,
      };
      try {
        await lock.intend(held, next);
        if (one.dies === "before the commit") return;
        if (one.commit !== "lost") database.head = next;
        if (one.commit !== "stored") return;
      } catch (error) {
        refused.push(error);
        return;
      } finally {
        unlock();
      }
      if (one.dies === "after the commit") return;
      await lock
        .confirm(next, async (heads) => holdsAll(database.head, heads))
        .then(
          () => {
            if (one.dies !== "after it is out") acknowledged.push(next);
          },
          (error: unknown) => refused.push(error),
        );
    }

    const running: Promise<void>[] = [];
    for (const one of steps) {
      let faults = one.fault === null ? 0 : 1;
      memory.fault = () => (faults-- > 0 ? one.fault : null);
      memory.isAway = one.away && one.fault !== null;
      if (one.event === "die") {
        locks[one.machine]?.close();
        locks[one.machine] = openLock(store);
        memory.deliverLate();
      } else if (mayLose && one.event !== "append") {
        // A standby is promoted; whoever is in the middle goes on with the old primary.
        const behind = one.event === "fork" ? primary.head : (primary.head.parent ?? primary.head);
        primary = { head: behind, row: Promise.resolve() };
      }
      running.push(append(one));
      for (let hops = one.machine; hops > 0; hops -= 1) await memory.hop();
    }
    await Promise.all(running);
    memory.fault = () => null;
    memory.isAway = false;
    memory.deliverLate();
    return { acknowledged, primary, append, locks, refused };
  }
  const clean = { event: "append", fault: null, dies: null, commit: "stored", away: false } as const;
  const steps = fc.array(step, { minLength: 3, maxLength: 14 });

  it("never acknowledge two histories, whatever is lost", async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const { acknowledged, append, locks } = await play(given, true);
        await append({ ...clean, machine: 0 });
        await append({ ...clean, machine: 1 });
        const longest = acknowledged.reduce((a, b) => (b.size > a.size ? b : a), acknowledged[0] as Commit);
        for (const one of acknowledged) expect(isAncestor(one, longest)).toBe(true);
        count += acknowledged.length;
        for (const lock of locks) lock.close();
      }),
      { numRuns: 300 },
    );
    expect(count).toBeGreaterThan(300);
  });

  it("lose nothing that was acknowledged, and go on by themselves, if the database loses nothing", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const { acknowledged, primary, append, locks, refused } = await play(given, false);
        for (const one of acknowledged) expect(isAncestor(one, primary.head)).toBe(true);
        const before = acknowledged.length;
        for (const machine of [2, 1, 0]) await append({ ...clean, machine });
        expect([refused.filter((error) => error instanceof ForkGuardError), acknowledged.length]).toEqual([
          [],
          before + 3,
        ]);
        for (const lock of locks) lock.close();
      }),
      { numRuns: 300 },
    );
  });
});
