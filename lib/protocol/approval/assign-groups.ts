/** Which of the required groups each approver counts for: one group each, whatever groups they are in. */
import type { RequiredApprovers } from "./decided-by";

/**
 * How many of each group's places the people can fill together at most, in the order of `required`. `people`: the ids of
 * the groups that each is in. An augmenting path for each person (Kuhn): there are at most 10 places.
 */
export function fillPlaces(
  required: readonly RequiredApprovers[],
  people: readonly (readonly string[])[],
): number[] {
  const places = required.flatMap(({ group, count }, index) =>
    Array.from({ length: count }, () => ({ group, index })),
  );
  const holders = new Map<number, number>();
  const seat = (person: number, tried: Set<number>): boolean =>
    places.some(({ group }, place) => {
      if (tried.has(place) || !people[person]?.includes(group)) return false;
      tried.add(place);
      const holder = holders.get(place);
      if (holder !== undefined && !seat(holder, tried)) return false;
      holders.set(place, person);
      return true;
    });
  for (const person of people.keys()) seat(person, new Set());
  const filled = required.map(() => 0);
  for (const place of holders.keys()) {
    const index = places[place]?.index;
    if (index !== undefined) filled[index] = (filled[index] ?? 0) + 1;
  }
  return filled;
}
