/** Two processes that answer the API (and one for pages) against one that does everything. */
import { attestSide } from "./case-attest.mjs";
import { attestMany, getSide, pickFrom } from "./fill.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "processes";

export async function run(servers, { seconds }) {
  const one = await servers.service("one", { processes: "1" });
  const two = await servers.service("two", { processes: "2" });
  const verifySide = async (server) => {
    const ids = await attestMany(server, 300);
    return withCpu(
      getSide(server, () => `/v1/verify/${pickFrom(ids)}`, { seconds }),
      server.meter,
    );
  };
  const load = { connections: 32, seconds };
  const cases = {
    verify: { one: await verifySide(one), two: await verifySide(two) },
    attest: { one: attestSide(one, load), two: attestSide(two, load) },
  };
  for (const [what, { one: single, two: double }] of Object.entries(cases)) {
    const sides = await takeTurns({ "one process": single, "two processes": double });
    printSides(`${what}, 32 clients`, sides);
    const [alone, both] = Object.values(sides);
    printRatio(`${what}, two processes against one`, both.perSecond / alone.perSecond);
  }
}
