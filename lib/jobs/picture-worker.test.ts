import { expect, it } from "vitest";
import { drawCard } from "./picture-worker";

it("draws a card of the size that links ask for, with nothing but what it is given", async () => {
  const card = {
    color: "#14603c",
    title: "Valid",
    sentence: "A sentence.",
    subject: "bot: Paid invoice 12 €",
    amount: "12,000.50 EUR",
    decided: "Approved by: 2 members of a group, by passkey",
    time: "Made between A and B.",
  };
  const png = Buffer.from(await drawCard(card));
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1200, 630]);
  expect(Buffer.from(await drawCard(card)).equals(png)).toBe(true);
  expect(Buffer.from(await drawCard({ ...card, title: "Invalid" })).equals(png)).toBe(false);
  for (const name of ["amount", "decided", "time"] as const)
    expect(Buffer.from(await drawCard({ ...card, [name]: "" })).equals(png)).toBe(false);
});
