/** Shared by the commands: the machine, the service, input and output. */
import { hashInputs } from "#lib/client/api/inputs";
import type { Service } from "#lib/client/api/transport";
import { type CountersignOptions, openService } from "#lib/client/create";
import type { McpMessage } from "#lib/client/gate/mcp-gate";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { type CommandLine, single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import type { CommandIo } from "#lib/verifier/cli/io";

export interface Received {
  headers: Record<string, string | undefined>;
  body: string;
}

export interface WebhookReceiver {
  /** URL on this machine. */
  url: string;
  /** Resolves when somebody wants the program to end. */
  stopped: Promise<void>;
  close(): Promise<void>;
}

export type OpenReceiver = (take: (received: Received) => boolean) => Promise<WebhookReceiver>;

/** Part of a transport of the MCP SDK. */
export interface McpTransport {
  onmessage?: ((message: McpMessage) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  setProtocolVersion?: ((version: string) => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
}

export interface McpServerAddress {
  command: readonly string[];
  url: string | undefined;
  headers: Readonly<Record<string, string>>;
}

export interface ClientIo extends CommandIo {
  /** COUNTERSIGN_URL */
  serviceUrl: string | undefined;
  runtime: CountersignOptions["runtime"];
  openReceiver: OpenReceiver;
  machine: Machine;
  /** Transports to the MCP client that started this program, and to the server. */
  openMcp: (address: McpServerAddress) => Promise<{
    client: McpTransport;
    server: McpTransport;
    /** Throws if the value isn't of the JSON Schema. */
    requireValid(schema: JsonObject, value: unknown): void;
  }>;
  /** Texts of the hook's programs by their names, which `hook install` writes. */
  hookPrograms: Readonly<Record<string, string>>;
  /** Runs the resident helper of the hook until it is idle or ended. */
  serve: (command: Command) => Promise<void>;
  /** Has no place for notes and records of calls: what is recorded is attested at once. */
  keepsNothing?: true;
  /** Does what may outlive the call, once at a time for a name; undefined in a process that ends with the call. */
  inBackground: ((name: string, work: (signal: AbortSignal) => Promise<unknown>) => void) | undefined;
}

export interface Command {
  io: ClientIo;
  words: string[];
  line: CommandLine<ValuedOption, FlagOption>;
}

export const valuedOptions = [
  "url",
  "inputs",
  "inputs-hash",
  "metadata",
  "authorization",
  "agent-key",
  "public-key",
  "code-hash",
  "model-id",
  "tool",
  "context",
  "expires-in",
  "level",
  "approvals",
  "approver",
  "required-approvers",
  "amount",
  "amendable",
  "number",
  "usable-for",
  "requester",
  "idempotency-key",
  "output",
  "name",
  "description",
  "agent",
  "match",
  "ask",
  "record",
  "dialect",
  "timeout",
  "key-file",
  "to",
  "settings",
  "run-as",
  "run",
  "reason",
  "event",
  "count",
  "port",
  "idle",
  "header",
  "accept",
  "rules",
  "template",
  "cedar",
] as const;
export const flagOptions = [
  "json",
  "wait",
  "public",
  "private",
  "zk",
  "require-code",
  "defer",
  "before",
  "answer-prompts",
  "system",
  "yes",
  "check",
  "ndjson",
  "all-or-nothing",
] as const;
/** Options whose value may be left out, which means every tool. */
export const optionalOptions = ["record"] as const satisfies readonly ValuedOption[];
export type ValuedOption = (typeof valuedOptions)[number];
export type FlagOption = (typeof flagOptions)[number];

/** `given`: null for a command whose --url is another address. */
export function connect(
  { io, line }: Command,
  given: string | null | undefined = single(line, "url"),
): Service {
  const baseUrl = given ?? io.serviceUrl;
  if (baseUrl === undefined)
    throw new UsageError(`which service? Set COUNTERSIGN_URL${given === null ? "" : " or give --url"}`);
  try {
    return openService({ baseUrl, apiKey: io.apiKey, fetch: io.fetch, runtime: io.runtime });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const address = typeof given === "string" ? "--url" : "COUNTERSIGN_URL";
    throw new UsageError(message.replace(/^baseUrl\b/, address).replace(/^apiKey\b/, "the API key"));
  }
}

export function requireKey({ io }: Command): void {
  if (io.apiKey === undefined) throw new UsageError("set COUNTERSIGN_API_KEY to an API key");
}

/** Returns as many words as there are places, or throws a usage error that names the places. */
export function requireWords({ words }: Command, ...places: string[]): string[] {
  if (words.length !== places.length)
    throw new UsageError(`expected ${places.map((place) => `<${place}>`).join(" ") || "no more words"}`);
  return words;
}

export async function readText(io: ClientIo, file: string): Promise<string> {
  try {
    return utf8Decode(await (file === "-" ? io.readStdin() : io.readFile(file)));
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : "unreadable"}`);
  }
}

async function readJson(io: ClientIo, file: string): Promise<JsonValue> {
  const text = await readText(io, file);
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw new UsageError(`${file}: not strict JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

export async function readJsonObject(io: ClientIo, file: string): Promise<JsonObject> {
  const value = await readJson(io, file);
  if (!isJsonObject(value)) throw new UsageError(`${file}: expected a JSON object`);
  return value;
}

export async function readInputsHash({ io, line }: Command): Promise<string | undefined> {
  const [file, hash] = [single(line, "inputs"), single(line, "inputs-hash")];
  if (file !== undefined && hash !== undefined) throw new UsageError("give --inputs or --inputs-hash");
  return file === undefined ? hash : hashInputs(await readJson(io, file));
}

export async function readAgentKey({ io, line }: Command): Promise<string | undefined> {
  const file = single(line, "agent-key");
  return file === undefined ? undefined : readText(io, file);
}

/** Prints the answer unchanged with --json, else its facts, each on a line, with hidden characters of others made visible. */
export function printResult({ io, line }: Command, answer: object, title: string, facts: Facts): void {
  if (line.flags.has("json")) io.print(`${JSON.stringify(answer, null, 2)}\n`);
  else io.print(formatFacts(title, facts));
}

export type Facts = readonly (readonly [name: string, value: unknown])[];

export function formatFacts(title: string, facts: Facts): string {
  const known = facts.filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...known.map(([name]) => name.length));
  const lines = known.map(([name, value]) => `  ${name.padEnd(width)}  ${toVisibleText(String(value))}`);
  return `${[toVisibleText(title), ...lines].join("\n")}\n`;
}

export const usage = `usage: countersign attest <agent> <action> (--inputs FILE | --inputs-hash HASH) [options]
       countersign attest --ndjson [<file>] [--all-or-nothing] [options]
       countersign authorize <agent> <action> [--wait] [options]
       countersign claim <request id> [--run NAME] | cancel <request id> | revoke <request id> [--reason TEXT]
       countersign answer <request id> <text> [--number N]
       countersign freeze <agent> --reason TEXT | unfreeze <agent> [--reason TEXT]
       countersign verify <id | url | file | -> [options]      see: countersign verify --help
       countersign hook --agent <agent> [--ask PATTERN]... [--record [PATTERN]]... [--dialect NAME] [options]
       countersign hook install --agent <agent> --key-file FILE [hook options] [--yes]
       countersign hook uninstall [--dialect NAME] [--settings FILE] [--to FOLDER] [--system] [--yes]
       countersign hook serve [--idle SECONDS] | --port N [hook options] [-- COMMAND...]
       countersign mcp gate --agent <agent> [--ask PATTERN]... [--record [PATTERN]]... (-- COMMAND... | --url URL)
       countersign rules try TRANSCRIPT --cedar FOLDER [--rules FILE | --template N] [--agent <agent>]
       countersign doctor
       countersign keys request <email> [--name TEXT] | verify <email> <code> | info | delete
       countersign agent show <agent> | register <agent> [options] | tools <agent> <tool>...
       countersign webhooks listen [--event NAME]... [--count N]

Records what an agent did, asks humans for approval, and verifies both. Needs only Node 20 or newer.

Environment
  COUNTERSIGN_URL       the service, for example https://countersign.example
  COUNTERSIGN_API_KEY   an API key; not needed for verify, agent show, keys request and keys verify

For every command
  --url URL             the service, instead of COUNTERSIGN_URL; for mcp gate, the server that it stands before
  --json                print the service's answer as JSON; everything else goes to standard error. authorize --wait
                        prints one line for the request and one for its end, whatever the end is
  --                    treat everything after it as words, not options

attest, authorize
  --inputs FILE         JSON that the action acts on ("-" for standard input); its hash is sent, not the content
  --inputs-hash HASH    the hash itself
  --idempotency-key K   with the same key it is done once, however often it is run

attest
  --metadata FILE       a JSON object for the record
  --public, --private   who may read it (default: your organization's setting)
  --zk                  also create a zero-knowledge proof
  --code-hash HASH, --model-id ID, --tool NAME   what ran; --tool can be repeated
  --authorization FILE  a human_authorization, as authorize --output saves it
  --agent-key FILE      sign as the agent with this PEM Ed25519 private key
  --ndjson              record many: each line of the file (default: standard input) is a request as POST /v1/attest
                        takes it; prints a line for each, {"status", "body"}; exit code 1 if one was refused,
                        or if only some were answered; then it says how to go on
  --all-or-nothing      with --ndjson, at most 100 lines: if one is refused, none is recorded

authorize
  --context NAME=VALUE  shown to the human; can be repeated
  --expires-in MINUTES  1-1440, default 30
  --tool NAME           the tool that would run
  --amount "N CODE"     what it costs, for example "100.50 EUR"; shown first
  --level LEVEL         device (default) or orb, of World ID; none only with --required-approvers
  --approvals N         distinct humans, 1-10, default 1
  --required-approvers GROUP=N   only N enrolled members of this group decide, by passkey; can be repeated
  --amendable FIELD     what an approver may change: amount, only downwards, or context.NAME; can be repeated. A changed
                        request ends as cancelled, and amended_by names the new one
  --usable-for SECONDS  how long the approval can be used once it is given
  --approver NAME       an approver or group of your organization who gets the link by email; can be repeated
  --requester TEXT      who or what in your organization asks, in your own words
  --require-code        the page asks for the confirmation code before a decision
  --wait                wait for the decision
  --output FILE         with --wait: save the human_authorization of an approval

answer                  of an approver's question, which authorize --wait and GET /v1/authorize/{request_id} show
  --number N            which question, default 1

claim                   right before the action, so that of several runs one runs it
  --run NAME            your name for this run, to repeat a claim whose answer was lost (default: a random one)

revoke, freeze, unfreeze
  --reason TEXT         for your organization; only a salted hash of it becomes public

hook                    for the settings of a coding agent; see /docs/hook
  --ask PATTERN         ask about Tool or Tool(text*), "*" is any text; can be repeated. Without it, and without
                        --record, about every call. --match is the same
  --record [PATTERN]    attest these calls without asking (default: every one); private unless --public; the key needs
                        the permission record too. While the service is away, they wait on this machine
  --answer-prompts      answer Codex's own question about an approved call too, also where it asks to leave its sandbox
  --before              attest what --record names before it runs too, so that a call that never came back shows
  --dialect NAME        the agent: claude (default), codex, copilot, gemini, antigravity, cursor, qwen, vibe, opencode, pi,
                        crush, goose or openhands
  --timeout SECONDS     how long to wait for the human, default 570: less than the agent's own time limit
  --defer               if nobody decided in time, defer the call instead of denying it (claude -p, Agent SDK)
  --key-file FILE       the API key, instead of COUNTERSIGN_API_KEY
  --amendable NAME      an argument that a human may change before the call runs with it (Claude Code); can be repeated
  --output FOLDER       one file with link and code for each waiting call, which only you can read
  --context, --expires-in, --level, --approvals, --approver, --requester, --required-approvers, --usable-for
                        as for authorize
  --public, --private, --agent-key, --code-hash, --model-id   as for attest

hook install            copies this program and writes the hook into the agent's settings
  --system              for every user of this machine, who then can't change it; needs root
  --to FOLDER           where the program goes: outside of every project (default ~/.countersign)
  --settings FILE       the agent's settings, if they are not at the usual place
  --run-as USER         run the hook as USER by sudo, so that the agent's user can't read the key
  --yes                 write; without it, only show what would change
  --port N              for Claude Code's hooks of type http, on this port of this machine; needs hook serve
  --check               prove with blocked calls that the installed hook is live, and list other hooks

hook uninstall          takes out what hook install wrote, and leaves what others wrote or changed

hook serve              keeps the hook ready, so that a call doesn't wait for a start of Node; the installed hook starts
                        it by itself
  --idle SECONDS        end after so long without a call (default 900)
  --port N [hook options] [-- COMMAND]   answers hooks of type http; starts the agent with the token that it needs

mcp gate                stands between an MCP client and a server: asks about calls of tools, attests them, and
                        blocks tools that the server has changed; see /docs/mcp
  --url URL             the server's address, instead of a command; --header "NAME: VALUE" for each of its headers.
                        The service is that of COUNTERSIGN_URL
  --accept TOOL         show a changed tool, instead of running; with --yes, accept it as it was shown; can be repeated
  --amendable NAME      an argument that a human may change before the call runs, as the tool's schema allows; can be repeated
  --ask, --record, --key-file, --public, --private, --agent-key, --code-hash, --model-id   as for hook

rules try               says what rules would have allowed, asked or denied of a transcript's calls: Claude Code's or
                        Codex's JSONL, or spans in OTLP's JSON. Nothing of it is sent
  --cedar FOLDER        your copy of the npm package @cedar-policy/cedar-wasm
  --rules FILE          rules in Cedar, or --template 1, 2 or 3 of the portal's (default: those of your organization, for
                        which the key needs the permission rules)
  --agent <agent>       the agent that rules name (default: agent)

doctor                  examines this machine's hooks: whether each blocks a call, which pass unseen, whether programs are
                        there and of this version, who can read the key, whether the service answers, what waits for it

agent register
  --name TEXT, --description TEXT, --code-hash HASH, --model-id ID, --tool NAME
  --agent-key FILE      register this private key's public half, with proof that you hold it
  --public-key FILE     register this PEM public key

webhooks listen         prints the messages of a service on this machine until you press Ctrl+C
  --event NAME          for example authorization.approved; can be repeated (default: all)
  --count N             stop after N messages

Exit codes (verify has its own: countersign verify --help)
  0  done; with authorize --wait: approved
  1  the service refused the request; claim: don't run the action
  2  wrong usage, or unreadable input; hook: whatever went wrong, so that the agent doesn't run the tool
  5  authorize --wait: denied or cancelled. Stop and report
  6  authorize --wait: expired. Nobody decided in time
  7  the service could not be reached, is busy, or failed; what is safe to repeat was repeated
`;

/* Shows the changes between two texts, line by line. */

/** Lines that go begin with "-", lines that come with "+", and what stays between them is three dots. */
export function describeChange(before: string, after: string): string {
  if (before === after) return "";
  const [old, fresh] = [listLines(before), listLines(after)];
  const common = measureCommon(old, fresh);
  const shown: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      if (shown.at(-1) !== "  …") shown.push("  …");
      [i, j] = [i + 1, j + 1];
    } else if (j === fresh.length || (i < old.length && common(i + 1, j) >= common(i, j + 1)))
      shown.push(`- ${old[i++]}`);
    else shown.push(`+ ${fresh[j++]}`);
  }
  return shown.map((line) => `${line}\n`).join("");
}

const listLines = (text: string) =>
  text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/^([ \t]*)(.*)$/, (_, indent, rest) => indent + toVisibleText(rest)));

function measureCommon(old: readonly string[], fresh: readonly string[]) {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  return at;
}

export interface Modes {
  file: number;
  folder: number;
}

/** Machine as the hook needs it, besides files: where programs are, who ends this one, and who may read what it writes. */
export interface Machine {
  /** Path of this program; undefined if it is no file of its own. */
  programPath: string | undefined;
  nodePath: string;
  home: string;
  platform: string;
  /** Folder of this process, and folders that the agent names in the environment. */
  workingFolders: readonly string[];
  readVariable(name: string): string | undefined;
  absolute(path: string): string;
  /** True also for the folder itself. Links are followed. */
  isInside(path: string, folder: string): Promise<boolean>;
  /** The repository that the path is in; null if it is in none. */
  findProject(path: string): Promise<string | null>;
  /** File mode, as chmod(1) writes it; null if there is no file. */
  readMode(path: string): Promise<number | null>;
  writeFile(path: string, text: string | Uint8Array, modes: Modes): Promise<void>;
  /** Throws if no file can be put there. Changes nothing. */
  requireWritable(path: string): Promise<void>;
  /** None if the folder isn't there. */
  listFiles(folder: string): Promise<{ name: string; ageMs: number }[]>;
  /** The user's number; null if there is nothing, or a link. */
  readOwner(path: string): Promise<number | null>;
  /** False if there is something already. */
  createFile(path: string, text: string): Promise<boolean>;
  /** Puts a file there as a whole, and makes its folder. False if there is something already, which stays. */
  createWhole(path: string, text: string, modes: Modes): Promise<boolean>;
  append(path: string, text: string, modes: Modes): Promise<void>;
  /** Names in no order; empty if the folder isn't there. */
  listNames(folder: string): Promise<string[]>;
  /** Process numbers are of this machine. */
  host: string;
  processId: number;
  isRunning(processId: number): boolean;
  /** Makes a folder that every user of the machine can write to. */
  makeSharedFolder(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  randomHex(bytes: number): string;
  /** Aborted as soon as somebody asks this process to end. */
  listenForEnd(): AbortSignal;
  /** The terminal of this process, of the one that is named, or of the nearest above it, also once that has ended. */
  openTerminal(processId?: number): Promise<Terminal | null>;
  /** Runs a shell's line in a folder until it ends, or the time is over. */
  runShell(line: string, stdin: string, folder: string, ms: number): Promise<ShellEnd>;
}

export interface Terminal {
  path: string;
  write(text: string): Promise<void>;
}

export interface ShellEnd {
  /** Null if it didn't end by itself. */
  code: number | null;
  out: string;
  err: string;
}
