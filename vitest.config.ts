/** Unit and service tests. `TEST_DATABASE_URL` (set by .ci/test.mjs) names the PostgreSQL that service tests use beside the embedded one. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["lib/**/*.test.ts", "components/**/*.test.tsx", "app/**/*.test.ts", "e2e/http/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
