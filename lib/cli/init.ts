/**
 *   npm run init                 ask six questions and write .env
 *   npm run init -- [options]    take the answers from options, and the usual ones for the rest
 *
 * Each answer is checked as `npm run doctor` does. With options nothing is asked, and nothing is written if a check fails.
 */
import "#lib/platform/node-wasm";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, rename, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { parseEnv as parseEnvFile } from "node:util";
import { runCommand, say } from "#lib/cli/shared/command-line";
import { examineDatabase } from "#lib/cli/shared/doctor-keys";
import {
  encodeFindings,
  examineAddress,
  examineMail,
  examineSignUp,
  examineWorld,
  type Finding,
  type Outside,
  openArea,
} from "#lib/cli/shared/doctor-settings";
import { type Env, parseEnv, readVariables } from "#lib/env";
import { readCommandLine, single, UsageError, unexpectedWords } from "#lib/protocol/text/command-words";
import { isLoopbackUrl } from "#lib/protocol/text/host";

const flags = ["address", "database", "approvals", "mail", "sign-up", "visibility"] as const;
type Flag = (typeof flags)[number];
type Variables = Record<string, string>;

const usage = `usage: npm run init
       npm run init -- [--address URL] [--database URL|embedded|compose] [--approvals "passkeys"|"APP RP KEY"]
                       [--mail "SMTP_URL FROM"|"RESEND_KEY FROM"|mailbox|compose] [--sign-up open|invited|"DOMAIN …"]
                       [--visibility private|public] [--file FILE] [--unchecked]`;

interface Question {
  flag: Flag;
  asks: string;
  /** Behind an empty line; empty if there is none. */
  usual(before: Variables): string;
  names: readonly string[];
  /** `kept`: of the file as it was; `before`: of the answers so far. */
  read(answer: string, kept: Variables, before: Variables): Variables;
  check(env: Env, outside: Outside, answer: string): Promise<Finding[]> | Finding[];
}

const listWords = (answer: string) => answer.split(/\s+/).filter((word) => word !== "");

function readAddress(answer: string, { TRUSTED_PROXY_HOPS: hops }: Variables): Variables {
  if (!URL.canParse(answer))
    throw new Error(`${answer} is not an address, such as https://countersign.example.com`);
  const isBehindProxy = !isLoopbackUrl(answer);
  return { PUBLIC_BASE_URL: answer, ...(isBehindProxy && { TRUSTED_PROXY_HOPS: hops ?? "1" }) };
}

/** An instance on this machine is for trying it out, which is no fault here. */
function checkAddress(env: Env): Finding[] {
  const area = openArea("settings");
  if (env.isLoopback)
    area.warning("links work on this machine only", "Run this again with the public https address.");
  else examineAddress(env, area);
  return area.found;
}

function readDatabase(answer: string, { POSTGRES_PASSWORD: password }: Variables): Variables {
  if (answer === "embedded") return {};
  if (answer === "compose") return { POSTGRES_PASSWORD: password ?? randomBytes(24).toString("hex") };
  return { DATABASE_URL: answer };
}

async function checkDatabase(env: Env, { clock }: Outside, answer: string): Promise<Finding[]> {
  const area = openArea("database");
  if (answer === "compose") area.ok("compose.yaml starts a PostgreSQL of its own");
  if (answer === "embedded")
    area.warning("the embedded database is for trying Countersign out", "Give the address of a PostgreSQL.");
  if (env.DATABASE_URL === undefined) return area.found;
  const { findings, database } = await examineDatabase(env.DATABASE_URL, env, clock);
  await database?.close();
  return findings;
}

function readApprovals(answer: string): Variables {
  if (answer === "passkeys") return { APPROVALS: "passkeys" };
  const [app = "", rp = "", key = "", ...more] = listWords(answer);
  if (key === "" || more.length > 0)
    throw new Error("passkeys is expected, or World ID's app, relying party and signing key: app_… rp_… 0x…");
  return { WORLD_APP_ID: app, WORLD_RP_ID: rp, WORLD_RP_SIGNING_KEY: key };
}

const isPublic = ({ PUBLIC_BASE_URL: address = "" }: Variables) => !isLoopbackUrl(address);

function usualMail(before: Variables): string {
  if (before["POSTGRES_PASSWORD"] !== undefined) return "compose";
  return isPublic(before) ? "" : "mailbox";
}

function readMail(answer: string, _kept: Variables, before: Variables): Variables {
  const isComposed = before["POSTGRES_PASSWORD"] !== undefined;
  if (answer === "compose") {
    if (!isComposed)
      throw new Error("compose is the mail of --database compose: give a mail server, or mailbox");
    return { SMTP_URL: "smtp://mail:1025", MAIL_FROM: "countersign@localhost", TRIAL_MAIL: "1" };
  }
  if (answer === "mailbox") {
    if (isComposed) throw new Error("a container's mailbox can't be reached: give a mail server, or compose");
    if (isPublic(before)) throw new Error("a mailbox is for this machine alone: give a mail server");
    return {};
  }
  const [server = "", from = "", ...more] = listWords(answer);
  if (from === "" || more.length > 0)
    throw new Error(
      "a server and a sender are expected: smtps://user:password@host you@example.com, or re_… you@example.com",
    );
  const mail = server.startsWith("re_") ? { RESEND_API_KEY: server } : { SMTP_URL: server };
  return { ...mail, MAIL_FROM: from, ...(isComposed && { TRIAL_MAIL: "0" }) };
}

async function checkMail(env: Env, outside: Outside, answer: string): Promise<Finding[]> {
  const area = openArea("mail");
  if (answer === "mailbox") area.warning("mail isn't sent: read it at /dev/mailbox", "Give a mail server.");
  if (answer === "compose")
    area.warning("mail isn't sent: read it on http://localhost:8025", "Give a mail server.");
  return area.found.length > 0 ? area.found : examineMail(env, outside);
}

function readSignUp(answer: string): Variables {
  if (answer === "open" || answer === "invited") return { SIGN_UP: answer };
  return { SIGN_UP: "domains", SIGN_UP_DOMAINS: listWords(answer).join(", ") };
}

const inSettings = (add: (area: ReturnType<typeof openArea>) => void) => {
  const opened = openArea("settings");
  add(opened);
  return opened.found;
};

const questions: readonly Question[] = [
  {
    flag: "address",
    asks: "Under which address will people open it? (https://… of a TLS proxy in front, or this machine)",
    usual: () => "http://localhost:3000",
    names: ["PUBLIC_BASE_URL", "TRUSTED_PROXY_HOPS"],
    read: readAddress,
    check: checkAddress,
  },
  {
    flag: "database",
    asks: "Which database? (postgres://…, embedded, or compose for the one of compose.yaml)",
    usual: () => "embedded",
    names: ["DATABASE_URL", "POSTGRES_PASSWORD"],
    read: readDatabase,
    check: checkDatabase,
  },
  {
    flag: "approvals",
    asks: "Who approves? (passkeys, or World ID's app, relying party and signing key: app_… rp_… 0x…)",
    usual: () => "passkeys",
    names: ["APPROVALS", "WORLD_APP_ID", "WORLD_RP_ID", "WORLD_RP_SIGNING_KEY"],
    read: readApprovals,
    check: examineWorld,
  },
  {
    flag: "mail",
    asks: "How is mail sent, and from whom? (smtps://user:password@host you@example.com, re_… you@example.com, or mailbox)",
    usual: usualMail,
    names: ["SMTP_URL", "RESEND_API_KEY", "MAIL_FROM", "TRIAL_MAIL"],
    read: readMail,
    check: checkMail,
  },
  {
    flag: "sign-up",
    asks: "Who may sign up? (invited, open, or domains: example.com example.org)",
    usual: () => "invited",
    names: ["SIGN_UP", "SIGN_UP_DOMAINS"],
    read: readSignUp,
    check: (env) => inSettings((area) => examineSignUp(env, area)),
  },
  {
    flag: "visibility",
    asks: "Who reads an organization's attestations if nobody says? (private or public)",
    usual: () => "private",
    names: ["DEFAULT_VISIBILITY"],
    read: (answer) => ({ DEFAULT_VISIBILITY: answer }),
    check: (env) =>
      inSettings(({ ok }) =>
        ok(`attestations are ${env.DEFAULT_VISIBILITY} unless a request says otherwise`),
      ),
  },
];

/** Stand for what was not asked yet, so that the rest is judged by itself. */
const unasked: Partial<Record<Flag, Variables>> = {
  approvals: { APPROVALS: "passkeys" },
  mail: { SMTP_URL: "smtp://localhost", MAIL_FROM: "nobody@localhost" },
};

interface Answered {
  variables: Variables;
  findings: Finding[];
}

async function judge(
  question: Question,
  answer: string,
  before: Answered,
  kept: Variables,
  outside: Outside,
) {
  const own = question.read(answer, kept, before.variables);
  const variables = { ...before.variables, ...own };
  const later = questions.slice(questions.indexOf(question) + 1).map(({ flag }) => unasked[flag] ?? {});
  const env = parseEnv(Object.assign({}, ...later, variables) as Variables);
  const findings = await question.check(env, outside, answer);
  return { variables, findings };
}

const listReasons = (error: unknown) =>
  (error instanceof Error ? error.message : String(error))
    .split("\n")
    .filter((line) => !/^Countersign cannot/.test(line));

const faultsIn = (findings: readonly Finding[]) => findings.filter(({ status }) => status === "fault");
const splitLines = (findings: readonly Finding[]) => encodeFindings(findings).slice(0, -1);

class Unanswered extends Error {}

async function askAll(kept: Variables, outside: Outside): Promise<Variables> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Lines that come before they are asked for, as through a pipe, wait here.
  const lines = terminal[Symbol.asyncIterator]();
  const ask = async (text: string): Promise<string> => {
    terminal.setPrompt(text);
    terminal.prompt();
    const { value, done } = await lines.next();
    if (done) throw new Unanswered("Not all questions were answered, so nothing was written.");
    return value;
  };
  let all: Answered = { variables: {}, findings: [] };
  for (const [index, question] of questions.entries()) {
    for (;;) {
      say(`\n${index + 1}/${questions.length} ${question.asks}`);
      const usual = question.usual(all.variables);
      const answer = (await ask(usual === "" ? "> " : `[${usual}] `)).trim() || usual;
      try {
        const judged = await judge(question, answer, all, kept, outside);
        for (const line of splitLines(judged.findings)) say(line);
        if (
          faultsIn(judged.findings).length > 0 &&
          !/^y/i.test(await ask("Keep this answer all the same? [no] "))
        )
          continue;
        all = judged;
        break;
      } catch (error) {
        if (error instanceof Unanswered) throw error;
        for (const line of listReasons(error)) say(line.trim());
      }
    }
  }
  terminal.close();
  return all.variables;
}

async function takeOptions(
  given: (flag: Flag) => string | undefined,
  kept: Variables,
  outside: Outside,
  isUnchecked: boolean,
): Promise<Variables> {
  let all: Answered = { variables: {}, findings: [] };
  const problems: string[] = [];
  for (const question of questions) {
    const answer = given(question.flag) ?? question.usual(all.variables);
    try {
      all = await judge(question, answer, all, kept, outside);
      for (const line of splitLines(all.findings)) say(line);
      problems.push(...faultsIn(all.findings).map(({ says }) => `--${question.flag}: ${says}`));
    } catch (error) {
      throw new UsageError(
        listReasons(error)
          .map((line) => `--${question.flag}: ${line.trim()}`)
          .join("\n"),
      );
    }
  }
  if (problems.length > 0 && !isUnchecked)
    throw new Error(
      `${problems.join("\n")}\nNothing was written. Mend it, or add --unchecked to write it all the same.`,
    );
  return all.variables;
}

/** Node and Docker Compose read it alike: what is more than a word stands in single quotes, in which nothing is replaced. */
function writeLine(name: string, value: string): string {
  if (/['\n]/.test(value))
    throw new Error(`${name}: can't hold a quote or a line break in .env: write %27 in an address`);
  return /^[\w./:@,+%-]*$/.test(value) ? `${name}=${value}` : `${name}='${value}'`;
}

/** Lines of other settings, and comments, stay as they are. */
function mergeEnvFile(before: string, variables: Variables): string {
  const owned = new Set(questions.flatMap(({ names }) => names));
  const rest = before
    .split("\n")
    .filter((line) => !owned.has(/^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? ""));
  const head =
    before === "" ? ["# Settings of Countersign, by npm run init. All others: .env.example."] : rest;
  const lines = Object.entries(variables).map(([name, value]) => writeLine(name, value));
  return `${[...head, ...lines]
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()}\n`;
}

function printNext(file: string, { POSTGRES_PASSWORD: composed, SIGN_UP: signUp }: Variables): void {
  const run = composed === undefined ? "npm run" : "docker compose run --rm countersign node dist/cli";
  say(`\n${file} is written, readable by you alone. Next:`);
  say(composed === undefined ? "  npm start" : "  docker compose up --build --detach");
  if (signUp === "invited")
    say(`  ${composed === undefined ? `${run} accounts --` : `${run}/accounts.mjs`} add-owner YOUR_EMAIL`);
  say(`  ${composed === undefined ? `${run} doctor` : `${run}/doctor.mjs`}`);
}

runCommand(usage, async (argv) => {
  const line = readCommandLine(argv, { valued: [...flags, "file"], flags: ["unchecked"], isStrict: true });
  if (line.words.length > 0) throw unexpectedWords(line.words, 0);
  const file = single(line, "file") ?? ".env";
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const kept = parseEnvFile(before) as Variables;
  const outside: Outside = { fetch, clock: () => new Date() };
  const isAsking = flags.every((flag) => line.values[flag] === undefined) && !line.flags.has("unchecked");
  const variables = isAsking
    ? await askAll(kept, outside)
    : await takeOptions((flag) => single(line, flag), kept, outside, line.flags.has("unchecked"));
  const foreign = Object.keys(variables).filter(
    (name) => (readVariables()[name] ?? kept[name]) !== kept[name],
  );
  const fresh = `${file}.new`;
  await writeFile(fresh, mergeEnvFile(before, variables), { mode: 0o600 });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
  if (foreign.length > 0) say(`The environment has ${foreign.join(", ")} too, and wins over ${file}.`);
  printNext(file, variables);
  setTimeout(() => process.exit(), 1_000).unref();
  return 0;
});
