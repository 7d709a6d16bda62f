/**
 * Agents' words for programs that turn into a link whatever looks like one: mail, chats, feed readers. They get the
 * visible form, with brackets around the character that makes an address: `https[:]//evil[.]example`, `a[@]b[.]example`.
 * Amounts, dates and times stay as they are: no program links 100.00, 22.11.2026 or 10:30.
 */
import { toVisibleText } from "./display-text";

/**
 * A dot before a letter, the first dot of an IPv4 address, the colon of a scheme or port, an @, and the backslashes
 * of `\\server`. Domain names know three other dots (UTS 46).
 */
const addressMakers =
  /(?<=[^\s.])[.\u3002\uFF0E\uFF61](?=\p{L})|[.\u3002\uFF0E\uFF61](?=\d{1,3}[.\u3002\uFF0E\uFF61]\d{1,3}[.\u3002\uFF0E\uFF61]\d)|:(?=\/\/)|(?<=\p{L}):(?=\S)|@(?=\S)|\\(?=\\)/gu;

export const toUnlinkedText = (text: string): string => toVisibleText(text).replace(addressMakers, "[$&]");
