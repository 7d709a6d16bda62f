/** How statements of the hot path are planned. */

/**
 * A generic plan, made once for each connection: if the tables were empty then, or had no statistics, it must use their
 * indexes all the same, and in their order. A bitmap has none, so a page would cost all rows of an agent.
 */
export const planSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
};
