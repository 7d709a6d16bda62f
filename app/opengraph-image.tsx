/** Link card of any page that has no picture of its own, for chats and timelines. */
import { drawLinkCard } from "#lib/server/pages/load-pages";

/** Drawn when it is asked for: the worker that draws belongs to a running service. */
export const dynamic = "force-dynamic";

export const size = { width: 1200, height: 630 };
export const contentType = "image/png";
export const alt = "Countersign: proof of what your AI agent did, and whether a human approved it";

export default function SiteImage(): Promise<Response> {
  return drawLinkCard({
    color: "#1f4690",
    title: "Proof of what your AI agent did",
    sentence: "Signed, publicly logged records, and proof that a human approved.",
    subject: "Anyone can verify them, without trusting the service.",
    amount: "",
    decided: "",
    time: "",
  });
}
