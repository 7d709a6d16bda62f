import { expect, it } from "vitest";
import { isTime } from "./time-words";

/** True for a date of the engine's calendar. */
function isDate(text: string): boolean {
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString() === text;
}

const twoDigits = (count: number) => Array.from({ length: count }, (_, n) => String(n).padStart(2, "0"));

it("takes each day that there is, and no other", () => {
  let days = 0;
  for (const year of ["0000", "1900", "2000", "2023", "2024", "2100", "9999"])
    for (const month of twoDigits(20))
      for (const day of twoDigits(40)) {
        const text = `${year}-${month}-${day}T23:59:59.999Z`;
        expect(isTime(text), text).toBe(isDate(text));
        if (isTime(text)) days += 1;
      }
  expect(days).toBe(7 * 365 + 3);
});

it("takes each time of a day, and no other", () => {
  for (const number of twoDigits(100))
    for (const time of [`${number}:00:00`, `00:${number}:00`, `00:00:${number}`]) {
      const text = `2026-11-30T${time}.000Z`;
      expect(isTime(text), text).toBe(isDate(text));
    }
});

it.each([
  "2026-11-30T10:00:00Z",
  "2026-11-30T10:00:00.000",
  "2026-11-30T10:00:00.000+00:00",
  "2026-11-30 10:00:00.000Z",
  "+002026-11-30T10:00:00.000Z",
  "2026-11-30T10:00:00.000Z\n",
  1,
  null,
])("refuses %j", (value) => {
  expect(isTime(value)).toBe(false);
});
