/** All tests of clients/python: those of `npm test`, its tools in the frameworks themselves, and its types. */
import { spawnSync } from "node:child_process";
import { root } from "./step.mjs";

const files = ["lib/client/python", "lib/verifier/python", "components/guides/python"];
const { status } = spawnSync(process.execPath, [".ci/test.mjs", "--only", "unit", ...files], {
  cwd: root,
  env: { ...process.env, TEST_PYTHON: "all" },
  stdio: "inherit",
});
process.exit(status ?? 1);
