/**
 * Masks what looks like a secret in a line that is shown in passing: titles of lists and mails. What a person approves is
 * never masked, and no hash covers a masked text. A guess: a secret of another form stays.
 */

/** Shown for the secret, whatever its length. */
const mask = "•••";

/** Keys and tokens that begin with the name of their service. */
const named =
  /\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bnpm_\w{30,}|\bcsk?_[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;
/** `password=…`, `--token …`, `"api_key": "…"`, `Authorization: Bearer …`: the value of a name that says so. */
const assigned =
  /((?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?)["']?\s*(?:[=:]\s*|\s))(["']?)(?!•)([^\s"'&;|]{4,})/gi;
const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g;
/** `https://user:secret@host`. */
const inAddress = /(\b\w+:\/\/[^\s/:@]+:)[^\s/@]+(?=@)/g;
/** 32 characters or more of letters and digits without a word in them: keys in hex and Base64. */
const opaque = /(?<![\w/.-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[A-Za-z0-9+/_=-]{32,}(?![\w/.-])/g;

export const maskSecrets = (text: string): string =>
  text
    .replace(inAddress, `$1${mask}`)
    .replace(named, mask)
    .replace(bearer, `$1 ${mask}`)
    .replace(assigned, `$1$2${mask}`)
    .replace(opaque, mask);
