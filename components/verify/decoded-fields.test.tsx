import { expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { describePlace } from "./decoded-fields";

it("calls the log's newest entry the last of as many as there are", () => {
  const place = (index: number, tree_size: number) =>
    describePlace({ index, tree_size } as VerifyResponse["log"]);
  expect(place(0, 1)).toBe("1 of 1 (index 0)");
  expect(place(1_233, 1_234)).toBe("1,234 of 1,234 (index 1,233)");
});
