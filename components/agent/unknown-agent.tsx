"use client";
/** Says which name was asked for: a not-found page gets no parameters of its own. */
import { useParams } from "next/navigation";
import { AgentText } from "#components/agent-text";
import { VerifyOrHome } from "#components/verify-or-home";

function decode(slug: string): string {
  try {
    return decodeURIComponent(slug);
  } catch {
    return slug;
  }
}

export function UnknownAgent() {
  const { slug } = useParams<{ slug?: string }>();
  const name = decode(slug ?? "").slice(0, 100);
  return (
    <section className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <h1 className="font-semibold text-3xl [overflow-wrap:anywhere]">
        No agent is called <AgentText value={name} isName />
      </h1>
      <p className="mt-4 text-lg text-muted">
        Nobody has registered or used this name on this instance. Check the spelling and the host name.
      </p>
      <VerifyOrHome />
    </section>
  );
}
