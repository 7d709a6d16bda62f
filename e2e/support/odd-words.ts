/**
 * Words that people don't use, wherever this service is read: in sources, documents and on pages. What a key may do are its
 * permissions, whatever fields and codes call them.
 */
export const oddWords =
  /\b(?:scope [“"`]{0,2}(?:attest|authorize|identity|read|hook|record|freeze|erase|rules|audit|scim)|for ever|for good|anew|one's own|made ones|hung onto|deeds?|as told|as (?:it|they) stands?|stands? (?:above|below|beside)|in the own|is told|was told|says? of)\b/gi;
