/** Guarantee: half of a receipt's address leads to its agent or to the receipt. */
import { expect, it } from "vitest";
import ShortAddressPage from "./[slug]/page";

it.each([
  ["pay-bot", "/agent/pay-bot"],
  ["01a226bd-8781-731f-93f5-b7994230a140", "/verify/attestation/01a226bd-8781-731f-93f5-b7994230a140"],
  ["%2F%2Fevil.example", "/agent/%2F%2Fevil.example"],
])("/verify/%s leads to %s", async (slug, place) => {
  const shown = ShortAddressPage({ params: Promise.resolve({ slug }) });
  await expect(shown).rejects.toMatchObject({ digest: expect.stringContaining(`;${place};`) });
});
