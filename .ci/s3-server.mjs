/**
 * Builds the S3 server that tests of LOG_STORE use besides their own double: versitygw (Apache-2.0), which honours If-Match
 * and If-None-Match. Go checks the module's sum against sum.golang.org. Takes minutes the first time; without it, the tests
 * that need it say that they are skipped.
 */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { root } from "./step.mjs";

const folder = path.join(root, "node_modules/.cache/countersign");
execFileSync("go", ["install", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"], {
  env: { ...process.env, GOBIN: folder, PATH: `${process.env.PATH}:/usr/local/go/bin` },
  stdio: "inherit",
});
console.log(path.join(folder, "versitygw"));
