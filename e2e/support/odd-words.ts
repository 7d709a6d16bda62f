/** Words that people don't use, wherever this service is read: in sources, documents and on pages. */
export const oddWords =
  /\b(?:for ever|for good|anew|one's own|made ones|hung onto|deeds?|as told|as (?:it|they) stands?|stands? (?:above|below|beside)|in the own|is told|was told|says? of)\b/gi;
