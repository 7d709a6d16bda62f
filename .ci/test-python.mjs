/**
 * Tests of clients/python: against a service, in the frameworks themselves, and its types. `npm test` does without them.
 *
 *   npm run test:python                                      all of them
 *   npm run test:python -- lib/client/python-frameworks      those of some files
 *   npm run test:python -- -t "accepts at its strictest"     options of the test runner go with either
 */
import { spawnSync } from "node:child_process";
import { root } from "./step.mjs";

const files = [
  "lib/client/python",
  "lib/verifier/python",
  "lib/verifier/rare-states",
  "components/guides/python",
  "lib/deployment.process",
  "lib/server/pages/second-provider",
  "lib/services/directory/compliance",
];
const given = process.argv.slice(2);
const chosen = given[0]?.startsWith("-") === false ? given : [...files, ...given];
const { status } = spawnSync(process.execPath, [".ci/test.mjs", "--only", "unit", ...chosen], {
  cwd: root,
  env: { ...process.env, TEST_PYTHON: "all" },
  stdio: "inherit",
});
process.exit(status ?? 1);
