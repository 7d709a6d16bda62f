import { describe, expect, it } from "vitest";
import { buildDecisionStatement } from "#lib/protocol/approval/approval-decision";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, DECISION_FILE_TYPE, readPackEntry } from "#lib/protocol/pack/pack-entries";
import { type AgentChangeKind, buildChangeStatement } from "#lib/protocol/record/agent-heads";
import { type ActionPredicate, buildActionStatement } from "#lib/protocol/statement/statement";
import { makeAmendedAuthorization } from "#support/enrolled-approvals";
import { createVerdictList, readSaid } from "./verdicts";

const placeOf = (sequence: number) => ({
  agent_id: "019a0000-0000-7000-8000-000000000003",
  sequence,
  previous: "ab".repeat(32),
});
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const timeAt = (second: number) => new Date(1_795_000_000_000 + second * 1_000).toISOString();

interface Acted {
  /** The agent's own number, and whether it is said not to follow the last one. */
  own?: [number, boolean];
  instance?: string;
  frozen?: string;
  /** In seconds. */
  at?: number;
  key?: string;
  /** The agent's signature, and whether it verified. */
  signed?: [string, boolean];
}

type Entry = Acted | AgentChangeKind | "approved" | "denied" | "unread" | JsonObject | null;

function attested(
  number: number,
  { own, instance = "a", frozen, at = number, key, signed }: Acted,
): JsonObject {
  const client = own && { client: { instance, sequence: own[0] } };
  const predicate: ActionPredicate = {
    ...{ attestation_id: "019a0000-0000-7000-8000-000000000001", timestamp: timeAt(at), key_id: "k" },
    ...{ organization: "o", is_public: true, salt: "s", record: placeOf(number) },
    request: { agent_slug: "bot", action: "act", inputs_hash: "x", ...client },
    registered: { agent_public_key: key ?? null, code_hash: null, tool_manifest_hash: null },
    ...(frozen !== undefined && { agent_frozen_at: frozen }),
    ...(signed && { agent_signature: signed[0] }),
    verdicts: {
      ...{ agent_authenticated: signed?.[1] ?? null, code_hash_verified: null, tools_authorized: null },
      ...(own && { client_gap: own[1] }),
    },
    human_approval: { method: "none" },
  };
  return { payload: textOf(buildActionStatement(predicate)), record: placeOf(number) };
}

function changed(number: number, change: AgentChangeKind): JsonObject {
  const payload = buildChangeStatement({
    ...{ change, changed_at: timeAt(number), key_id: "k", reason_hash: null, record: placeOf(number) },
    request_hash: change === "authorization_revoked" ? "cd".repeat(32) : null,
  });
  return { type: CHANGE_FILE_TYPE, sequence: number, payload: textOf(payload) };
}

function decided(number: number, decision: "approved" | "denied"): JsonObject {
  const payload = buildDecisionStatement({
    ...{ decision, decided_at: timeAt(number), key_id: "k", record: placeOf(number) },
    ...{
      request_hash: "cd".repeat(32),
      authorization_hash: decision === "approved" ? "ef".repeat(32) : null,
    },
  });
  return { type: DECISION_FILE_TYPE, sequence: number, payload: textOf(payload) };
}

const amended = makeAmendedAuthorization();

/** The cancellation of the request that `amended` changes, and its approval; both with their numbers. */
const cancellation = (number: number): JsonObject => {
  const payload = buildDecisionStatement({
    ...{ decision: "cancelled", decided_at: timeAt(number), key_id: "k", record: placeOf(number) },
    ...{ request_hash: amended.request.amends?.request_hash ?? "", authorization_hash: null },
  });
  return { type: DECISION_FILE_TYPE, sequence: number, payload: textOf(payload) };
};
const approval = (number: number): JsonObject => ({
  ...decided(number, "approved"),
  human_authorization: amended as unknown as JsonObject,
});

/** The fault over these entries, numbered from `first`; null stands for one that is not in the pack. */
function judge(entries: readonly Entry[], first = 1): string | undefined {
  const verdicts = createVerdictList();
  for (const [i, entry] of entries.entries()) {
    const number = first + i;
    if (entry === null) continue;
    const json =
      entry === "unread"
        ? { payload: null, record: placeOf(number) }
        : typeof entry === "object" && "type" in entry
          ? (entry as JsonObject)
          : entry === "approved" || entry === "denied"
            ? decided(number, entry)
            : typeof entry === "string"
              ? changed(number, entry)
              : attested(number, entry as Acted);
    verdicts.add(readSaid(readPackEntry("file", json), json));
  }
  const { status, reason, detail } = verdicts.judge();
  return status === "pass" ? undefined : `${reason} ${/number (\d+)/.exec(detail)?.[1]}`;
}

describe("what attestations of an evidence pack say about those before them", () => {
  const says = (number: number, isGap: boolean, instance = "a"): Acted => ({
    own: [number, isGap],
    instance,
  });

  it("is a gap in the agent's own numbers if there is one, and none if there is none", () => {
    expect(judge([says(1, false), says(2, false), says(4, true), says(4, true), says(5, false)])).toBe(
      undefined,
    );
    expect(judge([says(1, false), says(1, false, "b"), {}, says(2, false), says(2, false, "b")])).toBe(
      undefined,
    );
    expect(judge([says(2, false)])).toBe("client_gap_mismatch 1");
    expect(judge([says(1, true)])).toBe("client_gap_mismatch 1");
    expect(judge([says(1, false), says(3, false)])).toBe("client_gap_mismatch 2");
    expect(judge([says(1, false), says(2, true)])).toBe("client_gap_mismatch 2");
    expect(judge([says(3, true), says(2, false)])).toBe("client_gap_mismatch 2");
  });

  it("is nothing where the last number may be elsewhere: before the pack, or in what has no content", () => {
    expect(judge([says(7, false), says(9, true)], 5)).toBe(undefined);
    expect(judge([says(1, false), "unread", says(3, false), says(1, false, "b")])).toBe(undefined);
    expect(judge([says(1, false), null, says(3, false)])).toBe(undefined);
    expect(judge([says(7, false), says(9, false)], 5)).toBe("client_gap_mismatch 6");
    expect(judge([says(1, false), "unread", says(3, false), says(3, false)])).toBe("client_gap_mismatch 4");
  });

  it("is since when the agent is frozen, as the record's changes have it", () => {
    const key = "K";
    const since = (number: number): Acted => ({ key, frozen: timeAt(number) });
    expect(judge([{ key }, "frozen", since(2), "authorization_revoked", since(2), "unfrozen", {}])).toBe(
      undefined,
    );
    expect(judge([since(1)])).toBe("frozen_mismatch 1");
    expect(judge(["frozen", { key }])).toBe("frozen_mismatch 2");
    expect(judge(["frozen", since(9)])).toBe("frozen_mismatch 2");
    expect(judge(["frozen", "unfrozen", since(1)])).toBe("frozen_mismatch 3");
    expect(judge(["frozen", "unread", { key }])).toBe("frozen_mismatch 3");
    expect(judge([since(1), { key }], 5)).toBe(undefined);
    expect(judge(["frozen", null, { key }])).toBe(undefined);
  });

  it("is no signature that counted before", () => {
    const by = (text: string, isGood = true): Acted => ({ signed: [text, isGood] });
    expect(judge([by("A"), by("B"), by("A", false), by("C", false), by("C", false)])).toBe(undefined);
    expect(judge([by("A"), "unread", by("A")])).toBe("signature_replayed 3");
    expect(judge([by("A"), null, by("A")])).toBe("signature_replayed 3");
  });

  it("is no approval while the agent was frozen", () => {
    expect(judge(["approved", "frozen", "denied", "unfrozen", "approved"])).toBe(undefined);
    expect(judge(["frozen", "approved"])).toBe("approved_while_frozen 2");
    expect(judge(["frozen", null, "approved"])).toBe(undefined);
  });

  it("may be silent of a freeze that came while 1.0.0 made it for a slug that nobody had registered", () => {
    expect(judge([{}, "frozen", { at: 1 }])).toBe(undefined);
    expect(judge([{}, "frozen", { at: 1, key: "K" }])).toBe("frozen_mismatch 3");
    expect(judge([{}, "frozen", { at: 5 }])).toBe("frozen_mismatch 3");
  });

  it("is that a request was cancelled before the one that an approver made of it was approved", () => {
    const erased = { type: DECISION_FILE_TYPE, sequence: 1, payload: null };
    expect(judge([cancellation(1), approval(2)])).toBe(undefined);
    expect(judge([approval(1), cancellation(2)])).toBe("amended_open 1");
    expect(judge([{}, approval(2)])).toBe("amended_open 2");
    expect(judge([erased, approval(2)]), "perhaps it is the erased one").toBe(undefined);
    expect(judge([approval(5)], 5), "perhaps it was before the pack").toBe(undefined);
    expect(judge([approval(5), cancellation(6)], 5)).toBe("amended_open 6");
  });

  it("is which later decision is about what an approver made of a cancelled request", () => {
    const request = {};
    const replaced = (number: number, changed_into: number) => ({
      ...cancellation(number),
      ...{ request, changed_into },
    });
    const changed = { request: { amends: amended.request.amends as unknown as JsonObject } };
    const denial = (number: number) => ({ ...decided(number, "denied"), ...changed });
    expect(judge([replaced(1, 2), { ...approval(2), ...changed }])).toBe(undefined);
    expect(judge([replaced(1, 3), {}, denial(3)]), "denied in its turn").toBe(undefined);
    expect(judge([replaced(1, 2), approval(2)]), "of no shown request").toBe("changed_into_other 1");
    expect(judge([replaced(1, 2), "approved"])).toBe("changed_into_other 1");
    expect(judge([replaced(1, 9), { ...approval(2), ...changed }])).toBe("changed_into_other 1");
    expect(judge([replaced(1, 1), {}]), "no later one: the file doesn't hold").toBe(undefined);
    const erased = { type: DECISION_FILE_TYPE, sequence: 2, payload: null };
    expect(judge([replaced(1, 2), erased]), "meanwhile").toBe(undefined);
  });
});
