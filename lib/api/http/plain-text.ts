/** Texts for programs that read instead of browsing. */
const kinds = { markdown: "text/markdown", plain: "text/plain" } as const;

/** `null`: there is no such text. */
export function answerText(text: string | null, kind: keyof typeof kinds): Response {
  if (text === null)
    return new Response("Not found\n", {
      status: 404,
      headers: { "Content-Type": "text/plain; charset=utf-8" },
    });
  return new Response(text, {
    headers: {
      "Content-Type": `${kinds[kind]}; charset=utf-8`,
      "Cache-Control": "public, max-age=300",
      "Access-Control-Allow-Origin": "*",
    },
  });
}
