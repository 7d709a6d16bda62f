import { describe, expect, it } from "vitest";
import { cutPage, decodeCursor, encodeCursor } from "./opaque-text";

const rows = [4, 3, 2, 1];
const writeCursor = (row: number) => encodeCursor(String(row));
const readNumber = (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined);

describe("a list in pages", () => {
  it("goes on after the last row shown, and ends with the last page", () => {
    const { shown, nextCursor } = cutPage(rows.slice(0, 3), { limit: 2 }, writeCursor);
    expect(shown).toEqual([4, 3]);
    expect(decodeCursor(nextCursor ?? "", readNumber)).toBe(3);
    expect(cutPage([2, 1], { limit: 2 }, writeCursor)).toEqual({ shown: [2, 1], nextCursor: null });
    expect(cutPage([], { limit: 2 }, writeCursor)).toEqual({ shown: [], nextCursor: null });
  });

  it.each(["x", "*", "", encodeCursor("three"), `${encodeCursor("3")}=`, "_w"])(
    "refuses the cursor %o",
    (cursor) => {
      expect(() => decodeCursor(cursor, readNumber)).toThrow(
        expect.objectContaining({ errorName: "bad_request" }),
      );
    },
  );
});
