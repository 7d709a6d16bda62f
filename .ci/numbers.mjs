/**
 * Counts what the house is made of, at one commit or several, beside each other: node .ci/numbers.mjs [commit…]
 * Lines are those of the files as they are, with comments and blanks.
 */
import { spawnSync } from "node:child_process";
import { root } from "./step.mjs";

function git(args, input) {
  const run = spawnSync("git", args, { cwd: root, input, maxBuffer: 1024 * 1024 * 1024 });
  if (run.status !== 0) throw new Error(String(run.stderr));
  return run.stdout;
}

/** Paths of a commit, each with its number of lines. */
function readTree(commit) {
  const entries = String(git(["ls-tree", "-r", commit]))
    .trimEnd()
    .split("\n")
    .map((line) => /^\S+ blob (\S+)\t(.+)$/.exec(line))
    .filter((entry) => entry !== null);
  const blobs = git(["cat-file", "--batch"], entries.map(([, id]) => `${id}\n`).join(""));
  let offset = 0;
  return entries.map(([, , file]) => {
    const end = blobs.indexOf("\n", offset);
    const start = end + 1;
    const size = Number(blobs.toString("utf8", offset, end).split(" ")[2]);
    offset = start + size + 1;
    return { file, lines: blobs.toString("latin1", start, start + size).split("\n").length - 1 };
  });
}

const isTest = ({ file }) =>
  /\.(?:test|spec)\.tsx?$|\.test\.mjs$/.test(file) || /^e2e\/|^clients\/python\/tests\//.test(file);
const isSource = ({ file }) => /^lib\/.*\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file);
const sumLines = (files) => files.reduce((sum, { lines }) => sum + lines, 0);

function count(commit) {
  const tree = readTree(commit);
  const sources = tree.filter(isSource);
  const folders = new Set(sources.map(({ file }) => file.slice(0, file.lastIndexOf("/"))));
  const tests = tree.filter((entry) => isTest(entry) && /\.(?:[cm]?[jt]sx?|py)$/.test(entry.file));
  return {
    "lib: source files": sources.length,
    "lib: lines": sumLines(sources),
    "lib: files under 40 lines": sources.filter(({ lines }) => lines < 40).length,
    "lib: folders": folders.size,
    "tests: files": tests.length,
    "tests: lines": sumLines(tests),
    "schema snapshots: lines": sumLines(tree.filter(({ file }) => /^drizzle\/meta\/\d+_/.test(file))),
    "README: lines": sumLines(tree.filter(({ file }) => file === "README.md")),
  };
}

const commits = process.argv.length > 2 ? process.argv.slice(2) : ["HEAD"];
const columns = commits.map(count);
console.log(["", ...commits].join(" | "));
for (const name of Object.keys(columns[0]))
  console.log([name, ...columns.map((one) => one[name])].join(" | "));
