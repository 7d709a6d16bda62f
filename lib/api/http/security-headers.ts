/**
 * The response headers that do not change from request to request, said once for both doors: next.config.ts gives
 * them to what Next answers, finishResponse to what the operations answer.
 */
export const everywhere: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy":
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
};

/** Policy for content that no browser should ever run: API answers, log files, badges, the guides' Markdown. */
export const dataOnly: Readonly<Record<string, string>> = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
};

/** Keeps this address, which lets its holder decide the request, out of Referer and caches. */
export const secretLink: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex, nofollow",
};

/** Sent if the public address is https. */
export const strictTransport = {
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
} as const;
