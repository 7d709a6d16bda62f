/** A description of the document: CommonMark by OpenAPI's rule, of which ours use `code` alone. */
export function Description({ text }: { readonly text: string }) {
  const parts = text.split("`").map((part, i) => ({ part, isCode: i % 2 === 1, place: `${i}` }));
  return parts.map(({ part, isCode, place }) =>
    isCode ? (
      <code key={place} className="font-mono text-[0.9em] text-ink">
        {part}
      </code>
    ) : (
      part
    ),
  );
}
