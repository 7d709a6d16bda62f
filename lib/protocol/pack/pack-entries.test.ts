/** Files of a pack are read before they are checked: anything may stand in them. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readPackEntry } from "./pack-entries";

const approved = JSON.parse(readFileSync("public/vectors/1.0.0/human-approved.json", "utf8"));
const name = "attestations/000000000001.json";

it.each([null, {}, { fields: ["amount"] }])(
  "reads an attestation whose approval, changed by %j, is none, as one that shows no approval",
  (amends) => {
    const change = { request: { amends, amount: 5 }, original_request: { amount: 4 } };
    const human_authorization = { ...approved.human_authorization, ...change };
    const alone = readPackEntry(name, { ...approved, human_authorization: null });
    expect(readPackEntry(name, { ...approved, human_authorization })).toEqual(alone);
  },
);
