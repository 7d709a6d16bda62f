/**
 * Unit and service tests. `TEST_DATABASE_URL` (set by .ci/test.mjs) names the PostgreSQL that service tests use beside
 * the embedded one.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const folders = ["lib", "components", "app", "e2e/http"];

const tests = folders.flatMap((folder) =>
  readdirSync(path.resolve(import.meta.dirname, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.test\.tsx?$/.test(name))
    .map((name) => `${folder}/${name.replaceAll(path.sep, "/")}`),
);

/**
 * A test that puts something in the place of a module or of timers has a worker of its own: what a database's driver sends
 * while timers stand still never goes out.
 */
const replacing = tests.filter((file) =>
  /\bvi\.(mock|doMock|useFakeTimers)\(/.test(readFileSync(path.resolve(import.meta.dirname, file), "utf8")),
);

/** What takes longest starts first, and what starts last is short, or one processor waits for it. */
const longest = [
  "lib/log/publish/publisher",
  "lib/log/sequencer/crash",
  "lib/log/sequencer/interleavings",
  "e2e/http/faults",
  "lib/runtime/database-gone",
];
const shortest = ["app/", "components/", "lib/core/"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => path.relative(import.meta.dirname, moduleId);
    const rank = (file: TestSpecification) => {
      const at = longest.findIndex((start) => nameOf(file).startsWith(start));
      if (at >= 0) return at;
      return longest.length + Number(shortest.some((start) => nameOf(file).startsWith(start)));
    };
    // By their own names: the tests of one room all wait, those of another all work.
    const compareNames = (a: TestSpecification, b: TestSpecification) =>
      path.basename(a.moduleId).localeCompare(path.basename(b.moduleId));
    // The workers that share modules end if another project's file comes between.
    const isShared = ({ project }: TestSpecification) => Number(!project.config.isolate);
    return files.toSorted((a, b) => isShared(a) - isShared(b) || rank(a) - rank(b) || compareNames(a, b));
  }
}

export default defineConfig({
  test: {
    // A host that others use too is at times a third as fast: a timeout is for what hangs.
    testTimeout: 360_000,
    hookTimeout: 300_000,
    // What is awaited comes late on a busy machine; a second, which is the default, would be a test of time.
    expect: { poll: { timeout: 60_000 } },
    globalSetup: "e2e/support/bundle-testing-server.ts",
    pool: "forks",
    // Three more than CI has processors: a test often waits, for the database or for a process that starts.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // Optimized WebAssembly costs the embedded database more to compile than it saves in the few queries of a test.
    // Collecting garbage in threads beside takes a tenth more of processors that are all at work.
    // A seventh of the rest was collecting garbage; with 64 MB for what is young most of it never is collected.
    // Most functions run too seldom to earn the time that optimizing them takes: a tenth less with ten times V8's threshold.
    execArgv: [
      "--liftoff-only",
      "--single-threaded-gc",
      "--max-semi-space-size=64",
      "--interrupt-budget=675840",
    ],
    // The others share what they import: to load the service takes longer than most of their files run. So each puts
    // back what it changes (spies, globals, the working folder), or the next file in the worker finds it.
    projects: [
      {
        extends: true,
        test: {
          name: "sharing modules",
          include: [...folders.map((folder) => `${folder}/**/*.test.{ts,tsx}`), "bench/*.test.mjs"],
          exclude: replacing,
          isolate: false,
        },
      },
      { extends: true, test: { name: "replacing modules or timers", include: replacing, isolate: true } },
    ],
  },
});
