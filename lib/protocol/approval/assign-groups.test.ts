import { describe, expect, it } from "vitest";
import { fillPlaces } from "./assign-groups";

const required = (...counts: number[]) => counts.map((count, index) => ({ group: `g${index}`, count }));

describe("fillPlaces", () => {
  it.each([
    ["one group", required(2), [["g0"], ["g0"]], [2]],
    ["a person in two groups counts for one", required(1, 1), [["g0", "g1"]], [1, 0]],
    ["whoever came first makes room", required(1, 1), [["g0", "g1"], ["g0"]], [1, 1]],
    ["a chain of three moves", required(1, 1, 1), [["g0", "g1"], ["g1", "g2"], ["g0"]], [1, 1, 1]],
    ["nobody of the group", required(1), [["g9"], []], [0]],
    ["more people than places", required(1), [["g0"], ["g0"]], [1]],
  ])("%s", (_what, groups, people, filled) => {
    expect(fillPlaces(groups, people)).toEqual(filled);
  });

  it("fills as many places as any assignment could, whoever comes first", () => {
    const groups = required(2, 1, 1);
    const people = [["g0", "g2"], ["g0", "g1"], ["g2"], ["g0"]];
    const orders = people.flatMap((_, first) => [[...people.slice(first), ...people.slice(0, first)]]);
    for (const order of [...orders, ...orders.map((one) => [...one].reverse())])
      expect(fillPlaces(groups, order)).toEqual([2, 1, 1]);
  });
});
