/**
 * Chain of authority, from files alone: each attestation names the one by whose authority its agent acted, of the same
 * instance or another, by id, payload hash and log. Each file shows what its owner has opened, and may be private.
 */
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { readParent } from "#lib/protocol/statement/parent";
import { readOrigin } from "#lib/protocol/tlog/checkpoint";
import type { Verdict, VerifierCheck } from "#lib/verifier/report/report";
import { parseReceipt, UnreadableError } from "./evidence";
import type { VerifierTrust } from "./trust";
import { verifyEvidence } from "./verify-evidence";

export interface ChainLink {
  attestation_id: string;
  origin: string;
  agent_slug: string;
  /** Null where the payload is not in the file. */
  action: string | null;
  traceparent: string | null;
  /** Names of what the payload says is there and the file doesn't have. */
  missing: string[];
  /** Codes of what the record is to be read with. */
  warnings: string[];
}

export interface ChainReport {
  checks: VerifierCheck[];
  /** The attestation that was asked about first, then by whose authority, as far as the files lead. */
  links: ChainLink[];
  verdict: Verdict;
}

/** The keys of the instance whose log the receipt is in; of no other, which could sign for it. */
function chooseTrust(origin: string, trusts: readonly VerifierTrust[]): VerifierTrust {
  const own = trusts.find(({ logKeys }) => logKeys.some(({ name }) => name === origin));
  if (own === undefined) throw new UnreadableError(`no keys are given for the log ${origin}`);
  return own;
}

async function readLink(text: string, trusts: readonly VerifierTrust[]) {
  const receipt = parseReceipt(text);
  const origin = readOrigin(receipt.log.checkpoint) ?? "";
  const report = await verifyEvidence(text, chooseTrust(origin, trusts), {});
  const { action, traceparent, ...request } = report.statement?.predicate.request ?? {};
  const failed = report.checks.find(({ status }) => status === "fail");
  const { attestationId, agentSlug } = receipt;
  const warnings = [...report.warnings.map(({ code }) => code), ...report.statedWarnings];
  const link: ChainLink = {
    ...{ attestation_id: attestationId, origin, agent_slug: agentSlug, missing: report.missing, warnings },
    action: typeof action === "string" ? action : null,
    traceparent: typeof traceparent === "string" ? traceparent : null,
  };
  return {
    link,
    payloadHash: hexEncode(receipt.payloadHash),
    parent: readParent(request),
    isHidden: report.statement === null,
    outcome: failed ? fail("chain_link_invalid", { check: failed.name }) : pass(describeLink(link)),
  };
}

const describeLink = ({ agent_slug, origin, missing, warnings }: ChainLink) =>
  [
    `${agent_slug}, in ${origin}`,
    ...(missing.length > 0 ? [`not in the file: ${missing.join(", ")}`] : []),
    ...(warnings.length > 0 ? [`warnings: ${warnings.join(", ")}`] : []),
  ].join("; ");

type ReadLink = Awaited<ReturnType<typeof readLink>>;

/** Finds the next link; null at the chain's beginning. */
function findNext(
  { parent, isHidden }: ReadLink,
  all: ReadonlyMap<string, ReadLink>,
): ReadLink | Outcome | null {
  if (isHidden) return skip("chain_payload_absent");
  if (parent === null) return null;
  const next = all.get(parent.id);
  if (next === undefined) return skip("chain_file_absent", { id: parent.id, origin: parent.origin });
  const isSame = next.payloadHash === parent.payload_hash && next.link.origin === parent.origin;
  return isSame ? next : fail("chain_broken", { id: parent.id });
}

/** `receipts`: texts, the first the one that is asked about; `trusts`: the keys of each instance. */
export async function checkChain(
  receipts: readonly string[],
  trusts: readonly VerifierTrust[],
): Promise<ChainReport> {
  const read: ReadLink[] = [];
  for (const text of receipts) read.push(await readLink(text, trusts));
  const all = new Map(read.map((one) => [one.link.attestation_id, one]));
  if (all.size < read.length) throw new UnreadableError("one attestation is there twice");
  const checks: VerifierCheck[] = [];
  const links: ChainLink[] = [];
  const seen = new Set<ReadLink>();
  let at: ReadLink | Outcome | null = read[0] ?? null;
  // A hash in its own preimage can't be made, so no chain comes back to where it was.
  while (at !== null && !("status" in at)) {
    seen.add(at);
    links.push(at.link);
    checks.push({ name: `link ${links.length}`, ...at.outcome });
    if (at.outcome.status === "fail") break;
    at = findNext(at, all);
  }
  if (at !== null && "status" in at) checks.push({ name: `link ${links.length + 1}`, ...at });
  const isBroken = checks.some(({ status }) => status === "fail");
  const stray = read.find((one) => !seen.has(one));
  if (stray !== undefined && !isBroken)
    checks.push({ name: "files", ...fail("chain_stray", { id: stray.link.attestation_id }) });
  const isFailed = checks.some(({ status }) => status === "fail");
  const isOpen =
    checks.some(({ status }) => status === "not_applicable") ||
    links.some(({ missing }) => missing.length > 0);
  return {
    checks,
    links: isFailed ? [] : links,
    verdict: isFailed ? "invalid" : isOpen ? "incomplete" : "valid",
  };
}
