/**
 * Looks for an organization's token at a domain: in a TXT record, or a file that it serves itself. A name server or web
 * server that gives no answer shows neither that it is there nor that it isn't.
 */
import { Resolver } from "node:dns/promises";
import { type GuardedAnswer, type GuardedRequest, requestGuarded } from "#lib/jobs/guarded-request";

/** How this process asks the outside world about a domain; tests have name servers of their own. */
export interface DomainProbe {
  /** The TXT records of a name, each in its parts. Rejects as node:dns does. */
  resolveTxt(name: string): Promise<string[][]>;
  fetchFile(url: string): Promise<GuardedAnswer>;
}

const timeoutMs = 10_000;
const maxFileBytes = 4_096;

/** The rules of webhooks: https, public addresses only, judged when the connection is made, no redirects. */
export const fetchProofFile = (
  url: string,
  options: Pick<GuardedRequest, "mayBeLoopback" | "resolve"> = { mayBeLoopback: false },
): Promise<GuardedAnswer> =>
  requestGuarded({
    ...options,
    method: "GET",
    url,
    headers: { accept: "text/plain", "user-agent": "Countersign-Domains/1" },
    timeoutMs,
    maxBytes: maxFileBytes,
  });

export const domainProbe: DomainProbe = {
  resolveTxt: (name) => new Resolver({ timeout: 3_000, tries: 2 }).resolveTxt(name),
  fetchFile: (url) => fetchProofFile(url),
};

export const proofPlaces = ["dns", "file"] as const;
export type ProofPlace = (typeof proofPlaces)[number];

export interface Finding {
  state: "found" | "gone" | "no answer";
  /** In words, unless it was found. */
  problem: string | null;
}

export type Findings = Record<ProofPlace, Finding>;

export const recordName = (domain: string) => `_countersign.${domain}`;
export const fileUrl = (domain: string) => `https://${domain}/.well-known/countersign.txt`;
export const proofLine = (token: string) => `countersign-verification=${token}`;

const found: Finding = { state: "found", problem: null };
const gone = (problem: string): Finding => ({ state: "gone", problem });
const noAnswer = (problem: string): Finding => ({ state: "no answer", problem });

/** Errors of name servers for a name without such a record. */
const absent = ["ENOTFOUND", "ENODATA"];

async function askDns({ resolveTxt }: DomainProbe, domain: string, token: string): Promise<Finding> {
  try {
    const records = await resolveTxt(recordName(domain));
    const isThere = records.some((parts) => parts.join("").trim() === proofLine(token));
    return isThere ? found : gone("DNS has a TXT record, but not this one");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return absent.includes(code)
      ? gone("DNS has no such TXT record")
      : noAnswer(`DNS gave no answer (${code})`);
  }
}

/** Servers that are busy or broken say nothing about their files. */
const saysNothing = (status: number) => status === 429 || status >= 500;

async function askFile({ fetchFile }: DomainProbe, domain: string, token: string): Promise<Finding> {
  const answer = await fetchFile(fileUrl(domain));
  if (answer.status === null) {
    const { problem, code } = answer;
    const isAbsent = code !== null && absent.includes(code);
    return isAbsent ? gone("no web server has this name") : noAnswer(`the file: ${problem}`);
  }
  if (saysNothing(answer.status)) return noAnswer(`the file: HTTP ${answer.status}`);
  if (answer.status !== 200) return gone(`the file: HTTP ${answer.status}`);
  if (answer.text === null) return gone(`the file is larger than ${maxFileBytes} bytes`);
  const lines = answer.text.split("\n").map((line) => line.trim());
  return lines.includes(proofLine(token)) ? found : gone("the file doesn't have this line");
}

export async function lookForProof(probe: DomainProbe, domain: string, token: string): Promise<Findings> {
  const [dns, file] = await Promise.all([askDns(probe, domain, token), askFile(probe, domain, token)]);
  return { dns, file };
}
