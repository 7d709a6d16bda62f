/** Proof of a valid presentation, and its limits. */

const proves = [
  "This service's key signed one attestation that has exactly the values shown.",
  "Whoever created the presentation had that attestation's credential, and chose what to show.",
  "It was created for the audience and nonce that it names, and they haven't been changed since.",
] as const;

const notProves = [
  "That the action happened as the agent reported it.",
  "That this service is honest. The public log, which contains every attestation, is there for that.",
  "Who is showing it to you. A credential works for whoever has it.",
  "Anything about the hidden fields, which may be less favourable than what is shown.",
  "That it was created for you, unless you chose the nonce and checked it above.",
  "Authenticity against future quantum computers. Hidden fields stay hidden even then.",
] as const;

function Points({ title, points }: { readonly title: string; readonly points: readonly string[] }) {
  return (
    <div>
      <h3 className="font-medium">{title}</h3>
      <ul className="mt-2 list-disc space-y-1.5 pl-5 text-[15px] text-muted">
        {points.map((point) => (
          <li key={point}>{point}</li>
        ))}
      </ul>
    </div>
  );
}

export function PresentationLimits() {
  return (
    <section aria-labelledby="limits" className="mt-12">
      <h2 id="limits" className="font-semibold text-xl">
        What a valid presentation means
      </h2>
      <div className="mt-4 grid gap-8 sm:grid-cols-2">
        <Points title="It proves" points={proves} />
        <Points title="It does not prove" points={notProves} />
      </div>
    </section>
  );
}
