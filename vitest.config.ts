/**
 * Unit and service tests, in tiers that a file's suffix names: `x.test.ts` is pure (no database, no app, no socket, no
 * program), `x.service.test.ts` opens databases, apps and servers in its own process, `x.process.test.ts` starts programs,
 * and so does `x.smoke.test.ts`, which `npm test` runs too. `.mocks` before `.test` gives a file a worker of its own. `TEST_DATABASE_URL` (set by .ci/test.mjs) names the
 * PostgreSQL that tests use beside the embedded database.
 */
import path from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const inFolders = (name: string) =>
  ["lib", "components", "app", "e2e/http", "bench"].map((folder) => `${folder}/**/${name}.{ts,tsx,mjs}`);

/** The longest start first, and the last to start are short, or one processor waits for them. */
const longest = [
  ...["python-frameworks", "openapi-clients", "crash", "publisher", "interleavings"],
  "database-gone",
];

const tiers = ["process", "smoke", "service", "pure"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => path.basename(moduleId);
    const rank = (file: TestSpecification) => {
      const at = longest.findIndex((start) => nameOf(file).startsWith(`${start}.`));
      return at >= 0 ? at : longest.length;
    };
    // The workers that share modules end if another project's file comes between.
    const groupOf = ({ project }: TestSpecification) =>
      tiers.length * Number(!project.config.isolate) + tiers.indexOf(project.name.split(",")[0] ?? "");
    // Sorted by their own names: the tests of one room all wait, those of another all work.
    const compareNames = (a: TestSpecification, b: TestSpecification) => nameOf(a).localeCompare(nameOf(b));
    return files.toSorted((a, b) => groupOf(a) - groupOf(b) || rank(a) - rank(b) || compareNames(a, b));
  }
}

export default defineConfig({
  test: {
    // A host that others use too is at times a third as fast: a timeout is for what hangs.
    testTimeout: 360_000,
    hookTimeout: 300_000,
    // Polled conditions come late on a busy machine; a second, which is the default, would be a test of time.
    expect: { poll: { timeout: 60_000 } },
    pool: "forks",
    // Three more than CI has processors: a test often waits, for the database or for a process that starts.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // Bundled, because it imports next/server, which Node alone doesn't find.
    server: { deps: { inline: ["next-auth"] } },
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
    projects: tiers.flatMap((tier) => {
      const suffix = tier === "pure" ? "" : `.${tier}`;
      const others = tier === "pure" ? inFolders("*.{service,process,smoke}{.mocks,}.test") : [];
      const shared = {
        provide: { tier },
        setupFiles: ["e2e/support/keep-tier.ts"],
        globalSetup: tier === "pure" ? [] : ["e2e/support/bundle-testing-server.ts"],
      };
      return [
        // These share what they import: to load the service takes longer than most of their files run. So each puts back
        // what it changes (spies, globals, the working folder), or the next file in the worker finds it.
        {
          extends: true as const,
          test: {
            ...shared,
            name: tier,
            include: inFolders(`*${suffix}.test`),
            exclude: [...others, ...inFolders("*.mocks.test")],
            isolate: false,
          },
        },
        // These put something in the place of a module or of timers, and what a database's driver sends while timers stand
        // still never goes out.
        {
          extends: true as const,
          test: {
            ...shared,
            name: `${tier}, with mocks`,
            include: inFolders(`*${suffix}.mocks.test`),
            exclude: others,
            isolate: true,
          },
        },
      ];
    }),
  },
});
