/** All tests of clients/python: against a service, in the frameworks themselves, and its types. `npm test` does without them. */
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
const { status } = spawnSync(process.execPath, [".ci/test.mjs", "--only", "unit", ...files], {
  cwd: root,
  env: { ...process.env, TEST_PYTHON: "all" },
  stdio: "inherit",
});
process.exit(status ?? 1);
