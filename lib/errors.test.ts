import { describe, expect, it } from "vitest";
import { AppError } from "./errors";

class Narrower extends AppError {
  constructor() {
    super("service_unavailable", "try again");
  }
}

describe("instanceof", () => {
  it("knows errors of the table, and of a class below it only its own", () => {
    const plain = new AppError("not_found", "gone");
    expect([plain instanceof AppError, new Narrower() instanceof AppError]).toEqual([true, true]);
    expect([plain instanceof Narrower, new Narrower() instanceof Narrower]).toEqual([false, true]);
    expect(new Error("other") instanceof AppError).toBe(false);
  });

  it("knows an error of the table from another copy of this file", () => {
    const foreign = { [Symbol.for("countersign.AppError")]: true };
    expect(foreign instanceof AppError).toBe(true);
  });
});
