import { expect, it } from "vitest";
import { checkPresentation } from "./check-presentation";

it.each(["\u0089PNG\r\n", "Dear auditor,", "[]"])(
  "calls what is no JSON object no presentation, and quotes no parser: %j",
  async (text) => {
    const checked = checkPresentation({ text, audience: "", nonce: "", nowSeconds: 0 }, "{}");
    await expect(checked).rejects.toThrow(/^this is no presentation$/);
  },
);
