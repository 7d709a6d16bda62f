/** How the portal's own cookies are kept: for a year, by the browser alone. */
export const portalCookie = (baseUrl: string) =>
  ({
    path: "/portal",
    httpOnly: true,
    sameSite: "lax",
    secure: baseUrl.startsWith("https://"),
    maxAge: 365 * 86_400,
  }) as const;
