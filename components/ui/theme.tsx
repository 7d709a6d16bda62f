/**
 * The colour theme lives in a cookie that the server reads: the first byte of HTML already has the right colours,
 * so there is neither a flash nor an inline script.
 */

export type Theme = "system" | "light" | "dark";
export const themeCookieName = "theme";

/** Any value but the two known words means "as the system says". */
export function parseTheme(value: string | undefined): Theme {
  return value === "light" || value === "dark" ? value : "system";
}
