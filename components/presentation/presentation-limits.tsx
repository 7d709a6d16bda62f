/** What a valid presentation proves, and what it doesn't. */

const proves = [
  "This service's key signed one attestation that has exactly the values shown.",
  "Whoever made the presentation held that attestation's credential, and chose what to show.",
  "It was made for the audience and nonce that it names, and nobody has changed them since.",
] as const;

const notProves = [
  "That the action happened as the agent reported it.",
  "That this service is honest: for that there is the public log, in which every attestation stands.",
  "Who shows it to you. A credential works for whoever holds it.",
  "Anything about what is hidden, which may be less favourable than what is shown.",
  "That it was made for you, unless you chose the nonce yourself and checked it above.",
  "Authenticity against a quantum computer of the future. What is hidden stays hidden even then.",
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
