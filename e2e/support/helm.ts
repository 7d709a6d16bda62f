/** helm, built by Go through its module proxy and kept in node_modules from run to run. */
import { existsSync } from "node:fs";
import path from "node:path";
import { runProgram } from "./commands";
import { isPythonWanted } from "./python";

const version = "v3.19.0";
const folder = path.resolve("node_modules/.cache/countersign");
const program = path.join(folder, "helm");

/**
 * Path of Helm; null, said once, without it. Takes minutes the first time, so only runs where other packages are fetched too.
 */
export async function findHelm(): Promise<string | null> {
  if (existsSync(program)) return program;
  const env = {
    PATH: `${process.env["PATH"]}:/usr/local/go/bin`,
    HOME: process.env["HOME"],
    GOPROXY: process.env["GOPROXY"],
    GOBIN: folder,
  };
  const built = isPythonWanted
    ? await runProgram("go", ["install", `helm.sh/helm/v3/cmd/helm@${version}`], { env }).catch(String)
    : "npm run test:python builds it";
  if (existsSync(program)) return program;
  const why = typeof built === "string" ? built : built.out.slice(-500);
  console.warn(`Skipped: tests of the Helm chart, without helm (${why})`);
  return null;
}
