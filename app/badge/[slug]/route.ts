/**
 * GET /badge/<slug>.svg: the state of the agent's latest public attestation, or with ?attestation=<id> of that one, in
 * words. Verified again for each response and never cached: a badge must not outlive its truth.
 */
import { toVerdict } from "#components/verify/facts";
import { describeBadge, verdictColors } from "#components/verify/share-words";
import { forOwnHosts } from "#lib/api/http/host-check";
import { readPublicly } from "#lib/api/http/response-cache";
import { AppError } from "#lib/errors";
import { isUuid } from "#lib/protocol/encoding/bytes";
import { escapeHtml } from "#lib/protocol/text/display-text";
import { requestAddress } from "#lib/server/next/node-http";
import { countPage } from "#lib/server/next/page-limits";
import { verifyForPage } from "#lib/server/pages/public-pages";
import { getApp } from "#lib/server/singleton";
import { readAgentFeed } from "#lib/services/attestations/feed";

export const dynamic = "force-dynamic";

interface Badge {
  status: number;
  message: string;
  color: string;
}

const grey = "#474e59";

async function describeState(slug: string, request: Request): Promise<Badge> {
  const app = await getApp();
  const asked = new URL(request.url).searchParams.get("attestation");
  const feed = await readPublicly(app.context, (from) => readAgentFeed(from, slug, { limit: 1 }));
  const id = asked ?? feed.attestations[0]?.attestation_id;
  if (id === undefined) return { status: 200, message: "no public attestation", color: grey };
  if (!isUuid(id)) return { status: 404, message: "unknown attestation", color: grey };
  const verification = await verifyForPage(app.context, id, requestAddress(app, request.headers));
  if (verification.answer.agent_slug.toLowerCase() !== slug.toLowerCase())
    return { status: 404, message: "unknown attestation", color: grey };
  const message = `${asked === null ? "latest: " : ""}${describeBadge(verification)}`;
  return { status: 200, message, color: verdictColors[toVerdict(verification).kind] };
}

function describeFailure(error: unknown): Badge {
  if (!(error instanceof AppError)) throw error;
  switch (error.errorName) {
    case "agent_not_found":
      return { status: 404, message: "unknown agent", color: grey };
    case "attestation_not_found":
      return { status: 404, message: "unknown attestation", color: grey };
    case "rate_limit_exceeded":
      return { status: 429, message: "too many requests", color: grey };
    default:
      return { status: 503, message: "cannot be checked now", color: grey };
  }
}

async function makeAnswer(request: Request, slug: string): Promise<Badge> {
  try {
    await countPage(request.headers, "verify");
    return await describeState(slug, request);
  } catch (error) {
    return describeFailure(error);
  }
}

/** The mean width of a character of the font at its size, in pixels; `textLength` makes the text fit what is drawn for it. */
const characterWidth = 6.4;
const padding = 6;

/** Two fields of white text in one picture, 20 pixels high. */
function drawBadge(label: string, message: string, color: string): string {
  const [labelWidth, messageWidth] = [label, message].map((text) =>
    Math.round(text.length * characterWidth),
  ) as [number, number];
  const left = labelWidth + 2 * padding;
  const width = left + messageWidth + 2 * padding;
  const text = (x: number, length: number, words: string) =>
    `<text x="${x}" y="14" textLength="${length}">${escapeHtml(words)}</text>`;
  const accessible = escapeHtml(`${label}: ${message}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${accessible}"><title>${accessible}</title><clipPath id="r"><rect width="${width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><path fill="#14181f" d="M0 0h${left}v20H0z"/><path fill="${color}" d="M${left} 0h${width - left}v20H${left}z"/></g><g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">${text(padding, labelWidth, label)}${text(left + padding, messageWidth, message)}</g></svg>`;
}

async function answerBadge(request: Request, { params }: { params: Promise<{ slug: string }> }) {
  const { slug: file } = await params;
  if (!file.endsWith(".svg")) return new Response(null, { status: 404 });
  const { status, message, color } = await makeAnswer(request, file.slice(0, -".svg".length));
  const svg = drawBadge("Countersign", message, color);
  return new Response(svg, {
    status,
    headers: {
      "Content-Type": "image/svg+xml; charset=utf-8",
      "Cache-Control": status === 200 ? "no-cache" : "no-store",
      "Access-Control-Allow-Origin": "*",
      "Cross-Origin-Resource-Policy": "cross-origin",
    },
  });
}

export const GET = forOwnHosts(answerBadge);
