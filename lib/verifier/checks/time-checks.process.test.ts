/** Between which times a record was made, by clocks that are not the service's, and what contradicts them. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { parseCertificates } from "#lib/protocol/encoding/certificate";
import { quicknet, roundTimeMs } from "#lib/protocol/time/not-before";
import { describeBounds, readableTime } from "#lib/protocol/time/time-words";
import { type BoundedReceipt, type Clocks, makeBoundedReceipt } from "#support/bounded-receipt";
import { type Authority, makeAuthority } from "#support/tsa";
import { verifyEvidence } from "./verify-evidence";

const at = 1_795_000_000;
const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

async function judge({ answer, trust }: BoundedReceipt) {
  const report = await verifyEvidence(answer, trust);
  const [before, after] = ["not_before", "not_after"].map((name) =>
    report.checks.find((check) => check.name === name),
  );
  return { report, before, after };
}

const make = (clocks: Partial<Clocks>) => makeBoundedReceipt({ made: at, ...clocks });

describe("the time of a record", () => {
  let authority: Authority;
  beforeAll(() => {
    authority = makeAuthority();
  });
  afterAll(() => authority.remove());

  it("is the service's own word if nobody else vouches", async () => {
    const { report, before, after } = await judge(await make({}));
    expect([before?.reason, after?.reason]).toEqual(["no_lower_bound", "no_upper_bound"]);
    expect([report.verdict, report.madeAfter, report.madeBefore]).toEqual(["valid", null, null]);
  });

  it("lies between what it names and what covers it", async () => {
    const { report, before, after } = await judge(await make({ after: at - 10, before: at + 10 }));
    expect([before?.status, after?.status, report.verdict]).toEqual(["pass", "pass", "valid"]);
    expect(report.madeAfter).toEqual({ timeMs: (at - 10) * 1000, by: ["witness.example/w"] });
    expect(report.madeBefore).toEqual({ timeMs: (at + 10) * 1000, by: ["witness.example/w"] });
  });

  it("may be two seconds off, and no more", async () => {
    for (const clocks of [{ after: at + 2 }, { before: at - 2 }])
      expect((await judge(await make(clocks))).report.verdict).toBe("valid");
    const early = await judge(await make({ after: at + 3 }));
    expect([early.before?.reason, early.report.verdict]).toEqual(["time_too_early", "invalid"]);
    const late = await judge(await make({ before: at - 3 }));
    expect([late.after?.reason, late.report.verdict]).toEqual(["time_too_late", "invalid"]);
    expect(late.after?.detail).toContain(readableTime(iso(at - 3)));
    expect(late.report.madeBefore).toBeNull();
  });

  it("is refused beside every clock if it is no time, or one in another form", async () => {
    for (const timestamp of [
      "soon",
      ` ${iso(at)}`,
      iso(at).replace("Z", "+00:00"),
      "2026-02-30T00:00:00.000Z",
    ]) {
      const { answer, trust } = await make({ after: at - 10, before: at + 10 });
      const statement = JSON.parse(answer.payload);
      statement.predicate.timestamp = timestamp;
      const payload = canonicalJson(statement);
      const { report, before, after } = await judge({ answer: { ...answer, payload }, trust });
      expect([before?.reason, after?.reason]).toEqual(["statement_malformed", "statement_malformed"]);
      expect(report.verdict).toBe("invalid");
    }
  });

  it("counts from the earliest of witness and authority, each only if it is trusted", async () => {
    const now = Math.floor(Date.now() / 1000);
    const receipt = await make({ made: now, before: now + 500, authority });
    const both = await judge(receipt);
    expect(both.report.verdict).toBe("valid");
    expect(both.report.madeBefore?.by).toEqual(["TEST time-stamp authority"]);
    const witnessOnly = await judge({ ...receipt, trust: { ...receipt.trust, timeAuthorities: [] } });
    expect(witnessOnly.report.madeBefore).toEqual({ timeMs: (now + 500) * 1000, by: ["witness.example/w"] });
    const nobody = await judge({
      ...receipt,
      trust: { ...receipt.trust, timeAuthorities: [], witnesses: [] },
    });
    expect(nobody.after?.reason).toBe("time_untrusted");
    expect(nobody.report.verdict).toBe("valid");
  });

  it("is marked TEST by an authority on the service's own machine, whatever it calls itself", async () => {
    const own = makeAuthority({ name: "Honest Time Ltd" });
    const { report } = await judge(await make({ made: Math.floor(Date.now() / 1000), authority: own }));
    expect(report.madeBefore?.by).toEqual(["TEST Honest Time Ltd"]);
    own.remove();
  });

  it("has no bound by a stamp where there is no Web Cryptography, and does not fail for it", async () => {
    const receipt = await make({ made: Math.floor(Date.now() / 1000), authority });
    vi.stubGlobal("crypto", {});
    const { report, after } = await judge(receipt);
    vi.unstubAllGlobals();
    expect([after?.reason, report.verdict]).toEqual(["time_untrusted", "valid"]);
  });

  it("is contradicted by a stamp from before it", async () => {
    const { after } = await judge(await make({ made: Math.floor(Date.now() / 1000) + 500, authority }));
    expect(after?.reason).toBe("time_too_late");
  });

  it("takes no stamp over another checkpoint, and none that was changed", async () => {
    const now = Math.floor(Date.now() / 1000);
    const receipt = await make({ made: now, authority });
    const other = await make({ made: now - 1, authority });
    const [own, foreign] = [receipt, other].map((one) => one.answer.time_bounds.anchors[0]);
    own.time_stamps = foreign.time_stamps;
    const { after } = await judge(receipt);
    expect([after?.reason, after?.detail]).toEqual([
      "time_stamp_invalid",
      expect.stringContaining("over other data"),
    ]);
  });

  it("takes no checkpoint that does not cover it, and none that the log has not signed", async () => {
    const receipt = await make({ before: at });
    const other = await make({ made: at - 1, before: at });
    const swap = async (anchor: object) => {
      const { time_bounds: bounds } = receipt.answer;
      const answer = {
        ...receipt.answer,
        time_bounds: { ...bounds, anchors: [{ ...bounds.anchors[0], ...anchor }] },
      };
      return (await judge({ ...receipt, answer })).after?.reason;
    };
    expect(await swap({ checkpoint: other.answer.time_bounds.anchors[0].checkpoint })).toBe(
      "anchor_proof_invalid",
    );
    expect(await swap({ tree_size: 2 })).toBe("anchor_proof_invalid");
    expect(await swap({ checkpoint: "x" })).toBe("checkpoint_malformed");
    const own = receipt.answer.time_bounds.anchors[0].checkpoint;
    const cut = own.replace(/— example.com.*\n/, "");
    expect(await swap({ checkpoint: cut })).toBe("checkpoint_signature_invalid");
    const forged = own.replace(/A{4,}/, (zeros: string) => zeros.replace("A", "B"));
    expect(await swap({ checkpoint: forged })).toBe("cosignature_invalid");
  });

  it("takes no other note than the one that it names, with every byte of it", async () => {
    const receipt = await make({ after: at });
    const reasonWith = async (checkpoint: string | null) => {
      const answer = { ...receipt.answer, time_bounds: { ...receipt.answer.time_bounds, checkpoint } };
      return (await judge({ ...receipt, answer })).before?.reason;
    };
    const { checkpoint } = receipt.answer.time_bounds;
    expect(await reasonWith(checkpoint)).toBeUndefined();
    expect(await reasonWith(`${checkpoint}${checkpoint.split("\n").at(-2)}\n`)).toBe(
      "cosigned_checkpoint_mismatch",
    );
    expect(await reasonWith(null)).toBe("cosigned_checkpoint_mismatch");
    const unnamed = await make({});
    unnamed.answer.time_bounds.checkpoint = checkpoint;
    expect((await judge(unnamed)).before?.reason).toBe("cosigned_checkpoint_mismatch");
  });

  it("is unbounded from below in a file without the note, and still a valid record", async () => {
    const { answer, trust } = await make({ after: at });
    const { time_bounds: _left, ...file } = answer;
    const { before, report } = await judge({ answer: file, trust });
    expect([before?.reason, report.verdict]).toEqual(["time_evidence_absent", "valid"]);
  });

  it("is after a round of drand that verifies, and is refused with one that does not", async () => {
    const signature =
      "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92";
    const beacon = { type: "drand", chain: quicknet.chain, round: 123, signature } as const;
    const good = await judge(await make({ beacon }));
    expect(good.report.madeAfter).toEqual({ timeMs: roundTimeMs(123), by: ["drand"] });
    const bad = await judge(await make({ beacon: { ...beacon, round: 122 } }));
    expect([bad.before?.reason, bad.report.verdict]).toEqual(["beacon_invalid", "invalid"]);
    const early = await judge(await make({ made: roundTimeMs(123) / 1000 - 3, beacon }));
    expect(early.before?.reason).toBe("time_too_early");
  });

  it("is not read from what the file says about it", async () => {
    const receipt = await make({ after: at - 10, before: at + 10 });
    const state = (made_after: unknown) => ({
      ...receipt,
      answer: { ...receipt.answer, time_bounds: { ...receipt.answer.time_bounds, made_after } },
    });
    const true_ = { at: iso(at - 10), by: ["witness.example/w"] };
    expect((await judge(state(true_))).report.unproven).toEqual([]);
    const false_ = { at: iso(at - 1), by: ["witness.example/w"] };
    expect((await judge(state(false_))).report.unproven).toEqual(["time_bounds.made_after"]);
    await expect(judge(state("yesterday"))).rejects.toThrow(/made_after/);
  });

  it("is put into words", () => {
    const [a, b] = [
      { at: iso(at), by: ["w1", "w2"] },
      { at: iso(at + 1), by: ["d"] },
    ];
    expect(describeBounds(a, b)).toBe(
      `Made between ${iso(at).slice(0, 10)} ${iso(at).slice(11, 19)} UTC (w1, w2) and ${readableTime(iso(at + 1))} (d).`,
    );
    expect(describeBounds(null, b)).toContain("Nobody else has confirmed when at the earliest");
    expect(describeBounds(null, null)).toContain("Only Countersign says when this was made");
    expect(parseCertificates(authority.root)[0]?.name).toBe("TEST time-stamp authority root");
  });
});
