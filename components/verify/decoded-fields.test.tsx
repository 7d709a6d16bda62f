import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { DecodedFields, describePlace } from "./decoded-fields";

it("calls the log's newest entry the last of as many as there are", () => {
  const place = (index: number, tree_size: number) =>
    describePlace({ index, tree_size } as VerifyResponse["log"]);
  expect(place(0, 1)).toBe("1 of 1 (index 0)");
  expect(place(1_233, 1_234)).toBe("1,234 of 1,234 (index 1,233)");
});

it("shows the trace and the attestation that the agent acted by, if the record holds", () => {
  const parent = { id: "019a0000-0000-7000-8000-000000000007", payload_hash: "ab".repeat(32), origin: "o" };
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const show = (valid: boolean) => {
    const answer = {
      ...{ valid, payload: JSON.stringify({ predicate: { request: { parent, traceparent } } }) },
      ...{ attestation_id: "", agent_slug: "bot", action: "act", timestamp: "2026-11-24T12:00:00.000Z" },
      ...{ payload_hash: "", signature: "", key_id: "", log: { index: 0, tree_size: 1, origin: "o" } },
      ...{ inputs_hash: null, model_id: null, code_hash: null, client: null, client_gap: null },
      ...{ tools_used: null, metadata: null, human_approval: { method: "none" } },
    } as unknown as VerifyResponse;
    return renderToStaticMarkup(<DecodedFields answer={answer} />);
  };
  for (const value of [traceparent, parent.id, parent.payload_hash]) {
    expect(show(true)).toContain(value);
    expect(show(false)).not.toContain(value);
  }
});
