import { expect, it } from "vitest";
import { hexDecode, uuidV7 } from "./bytes";

it("makes the UUID of RFC 9562, appendix A.6, and leaves its randomness as it is", () => {
  const random = hexDecode("ffffffffffff0cc318c4dc0c0c07398f");
  const pooled = Buffer.from(random);
  expect(uuidV7(Date.UTC(2022, 1, 22, 19, 22, 22), pooled)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  expect(Uint8Array.from(pooled)).toEqual(random);
});
