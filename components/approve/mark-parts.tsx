/** Marks in the page for what ./use-seen.tsx watches. Apart from it, because pages that the server renders mark parts too. */

export const markRequest = (id: string) => ({ "data-request": id });

export const markPart = (id: string) => ({ "data-part": id });
