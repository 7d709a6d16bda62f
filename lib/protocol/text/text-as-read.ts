/**
 * Brings a text into the form in which a person reads it: NFC, without invisible characters, a single space for each run of
 * white space, none around. Letters of other scripts stay what they are.
 */
export const textAsRead = (text: string): string =>
  text
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replaceAll(/[\s\p{White_Space}]+/gu, " ")
    .trim()
    .normalize("NFC");
