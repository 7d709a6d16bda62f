import { describe, expect, it } from "vitest";
import { DISCLOSABLE_NAMES, presentationRequest } from "./attest";

const request = { disclose: ["human_approved"], audience: "https://bank.example", nonce: "n-1" };
const faults = (change: object) =>
  presentationRequest.safeParse({ ...request, ...change }).error?.issues.map(({ path }) => path.join("/"));

describe("a request for a presentation", () => {
  it("is valid for an hour unless it says otherwise", () => {
    expect(presentationRequest.parse(request)).toEqual(request);
    expect(faults({ expires_in: null })).toBeUndefined();
    expect(presentationRequest.parse({ ...request, expires_in: 60 }).expires_in).toBe(60);
    expect(faults({ disclose: [] })).toBeUndefined();
    expect(faults({ disclose: DISCLOSABLE_NAMES })).toBeUndefined();
  });

  it("never asks for the blinding, for an unknown name or for the public audience", () => {
    expect(DISCLOSABLE_NAMES).toHaveLength(23);
    expect(faults({ disclose: ["blinding"] })).toEqual(["disclose/0"]);
    expect(faults({ disclose: ["salt"] })).toEqual(["disclose/0"]);
    expect(faults({ disclose: Array(24).fill("action") })).toEqual(["disclose"]);
    expect(faults({ audience: "public" })).toEqual(["audience"]);
  });

  it("is bounded in every field", () => {
    for (const audience of ["", "x".repeat(513), "\ud800", 1])
      expect(faults({ audience })).toEqual(["audience"]);
    for (const nonce of ["", "x".repeat(257), "\ud800", null]) expect(faults({ nonce })).toEqual(["nonce"]);
    for (const expires_in of [59, 2_592_001, 60.5, "3600"])
      expect(faults({ expires_in })).toEqual(["expires_in"]);
    expect(presentationRequest.safeParse({ ...request, extra: 1 }).success).toBe(false);
  });
});
