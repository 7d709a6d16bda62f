/** What a chat or a timeline shows of the link: the verdict in words, agent and action, never more than is public or holds. */
import { ImageResponse } from "next/og";
import { verdictOf } from "#components/verify/facts";
import type { VerdictKind } from "#components/verify/verdict";
import { readImageFonts } from "#lib/http/image-fonts";
import { loadVerification } from "#lib/http/verification-page";

export const size = { width: 1200, height: 630 };
export const contentType = "image/png";
export const alt = "The verdict on this attestation";

interface Picture {
  color: string;
  title: string;
  sentence: string;
  subject: string;
}

const colors: Record<VerdictKind, string> = {
  authentic: "#14603c",
  warned: "#7a4a00",
  test: "#6b2a86",
  private: "#474e59",
  invalid: "#a3201f",
  erased: "#474e59",
};

const actionLength = 120;

/**
 * The font has Latin letters only, and for others the renderer would ask a foreign host for a font: such a text is
 * left to the page. Hidden characters are outside this range too.
 */
function drawable(text: string): string | null {
  if (!/^[\x20-\x7e\xa1-\xff\u0100-\u017f\u2010-\u2026\u20ac]*$/.test(text)) return null;
  return text.length <= actionLength ? text : `${text.slice(0, actionLength)}…`;
}

async function describe(id: string): Promise<Picture | number> {
  const loaded = await loadVerification(id);
  if (loaded.kind === "unknown") return 404;
  if (loaded.kind === "limited") return 429;
  const verdict = verdictOf(loaded);
  const { action: said, valid } = loaded.answer;
  const action = said === null || valid === false ? null : drawable(said);
  return {
    color: colors[verdict.kind],
    title: verdict.title,
    sentence: verdict.sentence,
    subject: `${loaded.answer.agent_slug}${action === null ? "" : `: ${action}`}`,
  };
}

function Card({ color, title, sentence, subject }: Picture) {
  return (
    <div
      style={{
        width: "100%",
        height: "100%",
        display: "flex",
        flexDirection: "column",
        justifyContent: "space-between",
        padding: 64,
        background: "#fafaf8",
        borderTop: `24px solid ${color}`,
        color: "#14181f",
        fontFamily: "Geist",
      }}
    >
      <div style={{ display: "flex", flexDirection: "column" }}>
        <div style={{ display: "flex", fontSize: 30, fontWeight: 600 }}>Countersign</div>
        <div style={{ display: "flex", marginTop: 28, fontSize: 60, fontWeight: 600, color }}>{title}</div>
        <div style={{ display: "flex", marginTop: 18, fontSize: 33, lineHeight: 1.35 }}>{sentence}</div>
      </div>
      <div style={{ display: "flex", fontSize: 31, color: "#565d68", lineHeight: 1.3 }}>{subject}</div>
    </div>
  );
}

export default async function VerificationImage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const picture = await describe(id);
  if (typeof picture === "number") return new Response(null, { status: picture });
  return new ImageResponse(<Card {...picture} />, {
    ...size,
    fonts: await readImageFonts(),
    // A kept copy would outlive an erasure and a change of the verdict.
    headers: { "Cache-Control": "no-cache" },
  });
}
