/** For one test file in a copy of the repository: nothing is built first. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Beside all other tests an embedded database takes half a minute to open.
  test: {
    testTimeout: 360_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 1,
    server: { deps: { inline: ["next-auth"] } },
  },
});
