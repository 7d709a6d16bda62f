/** Each way to break the golden receipt fails the checks that it should; whole and rejoined, it passes. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verifyInBrowser } from "#lib/verifier/browser";
import { breakages, joinReceipt, type ReceiptParts, splitReceipt } from "./break-receipt";

const read = (file: string) => readFileSync(`public/vectors/1.0.0/${file}`, "utf8");
const whole = splitReceipt(read("human-approved.json"));
const failuresOf = async (parts: ReceiptParts) => {
  const { checks } = await verifyInBrowser(joinReceipt(parts), read("keys.json"));
  return checks.filter(({ status }) => status === "fail").map(({ name }) => name);
};

describe("the receipt on the landing page", () => {
  it("is verified whole", async () => {
    expect(await failuresOf(whole)).toEqual([]);
  });

  it.each([
    ["Change the amount", ["payload_hash", "signature", "log_inclusion"]],
    ["Flip one bit of the signature", ["signature"]],
    ["Remove the human's approval", ["human_authorization"]],
    ["Move it in the log", ["log_inclusion"]],
  ])("%s", async (label, expected) => {
    const found = breakages.find((one) => one.label === label);
    expect(await failuresOf(found?.apply(whole) ?? whole)).toEqual(expect.arrayContaining(expected));
  });

  it("has no other way to break it that is not tried here", () => {
    expect(breakages).toHaveLength(4);
  });
});
