/** For one test file in a copy of the repository: nothing is built first. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { testTimeout: 60_000, pool: "forks", maxWorkers: 1 } });
