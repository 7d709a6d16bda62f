/** The paths of the OpenAPI document: none fits two templates, and their parameters fit real ones. */
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { encodeTilePath } from "#lib/protocol/tlog/tiles";
import { buildOpenApi, describedPath } from "./openapi";

const documented = (Object.entries(operations) as [string, OperationSpec][]).filter(
  ([, { internal }]) => !internal,
);
// biome-ignore lint/suspicious/noExplicitAny: the document is read freely
const document = buildOpenApi("http://localhost:3000") as any;

describe("the paths of the OpenAPI document", () => {
  const split = (path: string) => path.split("/").slice(1);
  const isParameter = (segment: string) => segment.startsWith("{");
  interface Described {
    parameters: { name: string; schema: { pattern?: string } }[];
  }
  /** The number of a log is none of the names below /log. */
  const takes = (item: Record<string, Described>, segment: string, other: string) => {
    const parameters = Object.values(item).flatMap(({ parameters }) => parameters);
    const { pattern = "" } = parameters.find(({ name }) => `{${name}}` === segment)?.schema ?? {};
    return isParameter(segment) && (isParameter(other) || new RegExp(pattern).test(other));
  };

  it("fit one template each: of two that fit, one is more concrete throughout", () => {
    const entries = Object.entries(document.paths as Record<string, Record<string, Described>>);
    const ambiguous = entries.flatMap(([a, itemA]) =>
      entries
        .filter(([b]) => a < b)
        .filter(([b, itemB]) => {
          const [one, other] = [split(a), split(b)];
          const fits =
            one.length === other.length &&
            one.every(
              (segment, i) =>
                takes(itemA, segment, other[i] ?? "") ||
                takes(itemB, other[i] ?? "", segment) ||
                segment === other[i],
            );
          const beats = (x: string[], y: string[]) =>
            x.every((segment, i) => !isParameter(segment) || isParameter(y[i] ?? ""));
          return fits && beats(one, other) === beats(other, one);
        })
        .map(([b]) => `${a} ${b}`),
    );
    expect(ambiguous).toEqual([]);
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(["/log/tile/{path}", "/log/{log}/tile/{path}"]),
    );
  });

  it("have one operation for each method, and parameters with a schema that fits real ones", () => {
    const tile = document.paths["/log/tile/{path}"].get.parameters[0].schema;
    const isTile = new Ajv2020({ strict: false }).compile(tile);
    fc.assert(
      fc.property(
        fc.constantFrom("entries" as const, 0, 9, 63),
        fc.nat(2 ** 31 - 1),
        fc.integer({ min: 1, max: 256 }),
        (level, index, width) => {
          expect(isTile(encodeTilePath({ level, index, width }).slice("tile/".length))).toBe(true);
        },
      ),
    );
    for (const wrong of ["", "64/000", "0/0", "0/000.p/0", "0/../000", "entries/000/"])
      expect([wrong, isTile(wrong)]).toEqual([wrong, false]);
    for (const [id, spec] of documented) {
      const described = document.paths[describedPath(spec)][spec.method.toLowerCase()];
      expect(described.operationId).toBe(id);
      for (const { name, schema } of described.parameters)
        expect([id, name, Object.keys(schema ?? {}).length > 1 || name === "wait"]).toEqual([id, name, true]);
    }
  });
});
