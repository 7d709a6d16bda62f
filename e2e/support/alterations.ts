/** Lists, for mutation tests, every way in which a JSON value can differ from what was hashed. */
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";

function otherLeaf(value: JsonValue): JsonValue {
  if (typeof value === "string") return `${value}x`;
  if (typeof value === "number") return value + 1;
  return value === null ? "x" : !value;
}

/** Each leaf changed, each member dropped, each object and list with one more, and each as null; with the place in words. */
export function alterations(value: JsonValue, place = "it"): [string, JsonValue][] {
  if (typeof value !== "object" || value === null) return [[`${place} changed`, otherLeaf(value)]];
  const put = (entries: [string, JsonValue][]): JsonValue =>
    Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
  const all = Object.entries(value);
  const within = all.flatMap(([name, member], at) => [
    ...alterations(member, `${place}.${name}`).map(([what, other]): [string, JsonValue] => [
      what,
      put(all.with(at, [name, other])),
    ]),
    [`${place}.${name} dropped`, put(all.toSpliced(at, 1))] as [string, JsonValue],
  ]);
  return [...within, [`${place} with one more`, put([...all, ["extra", "x"]])], [`${place} as null`, null]];
}
