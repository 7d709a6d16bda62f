import { expect, it } from "vitest";
import { encodeCsvCell, encodeCsvLine } from "./csv";

it.each([
  ["=1+1", `"'=1+1"`],
  ["+1", `"'+1"`],
  ["-1", `"'-1"`],
  ["@SUM(A1)", `"'@SUM(A1)"`],
  ["\t=1", `"'\t'=1"`],
  ["\r=1", `"'\r=1"`],
  ["  =1", `"'  =1"`],
  ["\uff1d1", `"'\uff1d1"`],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
])("disarms %j", (text, cell) => {
  expect(encodeCsvCell(text)).toBe(cell);
});

it.each([
  ["Paid 12 €", '"Paid 12 €"'],
  ["a=b", '"a=b"'],
  ["a;b | c", '"a;b | c"'],
  ['say "hi", twice', '"say ""hi"", twice"'],
  ["two\r\nlines", '"two\r\nlines"'],
  ["", '""'],
])("keeps %j", (text, cell) => {
  expect(encodeCsvCell(text)).toBe(cell);
});

it("ends lines with CRLF", () => {
  expect(encodeCsvLine(["a", "b,c"])).toBe('"a","b,c"\r\n');
});

it.each([";", "|", "\t"])(
  "leaves no formula to a spreadsheet that splits at %j, quotes or not",
  (separator) => {
    for (const formula of [
      "=HYPERLINK(A1)",
      ' "=1+1"',
      "@SUM(A1)",
      "-1",
      "+1",
      "\uff1d1",
      `${separator}=1`,
    ]) {
      const line = encodeCsvLine(["id", `x${separator}${formula}`]);
      for (const cell of line.split(separator))
        expect(cell.replace(/^[\s"]+/, "")).not.toMatch(/^[=+\-@\uff1d]/);
    }
  },
);
