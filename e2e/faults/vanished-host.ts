/** The database's host vanishes without closing a connection, and comes back. */
import { openVanishingLink, type VanishingLink, whyNoLink } from "#support/vanishing-link";
import { type Scenario, seconds, underLoad } from "./scenario";

export const vanishedHost: Scenario = {
  name: "vanished host",
  run: async (chance) => {
    const reason = whyNoLink();
    if (reason !== null) return reason;
    let link: VanishingLink | null = null;
    const settings = async ({ url }: { url: string }) => {
      link = await openVanishingLink(url);
      return { DATABASE_URL: link.url };
    };
    try {
      return await underLoad({ chance, instances: [2], settings }, async (_, probes, problems) => {
        link?.down();
        const firstMs = await probes.round([503], problems);
        const laterMs = Math.max(await probes.round([503], problems), await probes.round([503], problems));
        link?.up();
        const backMs = await probes.back();
        return `503 after ${seconds(firstMs)}, then after ${seconds(laterMs)}; back after ${seconds(backMs)}`;
      });
    } finally {
      await (link as VanishingLink | null)?.close();
    }
  },
};
