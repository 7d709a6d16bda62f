import { describe, expect, it } from "vitest";
import { loadProvider } from "./load-provider";

describe("a provider's SDK", () => {
  it("that is missing is named by its setting, with the command that installs it", async () => {
    const missing = "@aws-sdk/client-that-is-not-there";
    await expect(loadProvider("LOG_STORE=s3://…", () => import(missing))).rejects.toThrow(
      "LOG_STORE=s3://… needs a package that is not installed: run npm run providers",
    );
  });

  it("that is there is given as it is, and another failure is left as it is", async () => {
    expect((await loadProvider("X", () => import("node:path"))).sep).toBe("/");
    const broken = () => Promise.reject(new TypeError("broken"));
    await expect(loadProvider("X", broken)).rejects.toThrow(TypeError);
  });
});
