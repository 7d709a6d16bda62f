/** Sentences that were on pages and in mails and read badly: none of them comes back. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const gone = [
  "Check what an agent did, and whether a human approved it.",
  "Key, attestation, link",
  "from nothing to a link that a stranger can check",
  "Trade the code for the key",
  "choose your own name once you stay",
  "That the action happened as told",
  "it does not rule this out",
  "Answers (API reference)",
  "One's own attestations",
  "in the own browser",
  "is there after a restart",
  "Nothing is known under this address",
  "The same form makes your account",
  "Make the key",
  "It is shown this once",
  "Keys got through the API",
  "What it may do",
  "not a moment longer",
  "starts anew",
  "No approval is being asked for",
  "No human was asked yet",
  "Made ones stay",
  "Humans who are asked for approval see it",
  "The list shows changes by itself",
  "An agent asks for your approval",
  "0 given, 1 needed",
  "this may not be the request that you expect",
  "Deny for good",
  "marked TEST for ever",
  "may then do exactly what stands below",
  "and says what became of it",
  "Nobody needs an account to check",
  "made by the server at every look",
  "Pass it on",
  "Show a part of it to somebody",
  "nothing here shows whether one did",
  "No independent lower bound, and no independent upper bound",
  "the time is the service's own word",
  "A receipt, from our test vectors",
  "When the agent records what it did, a link",
  "Delete account",
  "Nothing was approved, signed or deleted",
  "above 0 attestations",
  "invited you to join their organization",
  // Lines break at its hyphen.
  "e-mail",
  "E-mail",
] as const;

const folders = ["app", "components", "docs", "lib"];

const sources = folders
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  )
  .filter((file) => /\.(?:tsx?|md)$/.test(file) && !/\.test\.tsx?$/.test(file))
  .concat("README.md");

/** Collapses white space as a page does: JSX breaks lines anywhere. */
const texts = sources.map((file) => ({ file, text: readFileSync(file, "utf8").replace(/\s+/g, " ") }));

it("reads the pages", () => {
  expect(texts.length).toBeGreaterThan(400);
  expect(texts.some(({ text }) => text.includes("No account needed."))).toBe(true);
});

it.each(gone)("no longer says: %s", (sentence) => {
  const files = texts.filter(({ text }) => text.includes(sentence)).map(({ file }) => file);
  expect(files).toEqual([]);
});
