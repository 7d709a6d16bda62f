/** The frame of every page: fonts (self-hosted), colour theme, skip link, header and footer. */
import type { Metadata, Viewport } from "next";
import localFont from "next/font/local";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { SiteChrome } from "#components/site-chrome";
import { SiteFooter } from "#components/site-footer";
import { SiteHeader } from "#components/site-header";
import { SkipLink } from "#components/ui/skip-link";
import { parseTheme, themeCookieName } from "#components/ui/theme";
import { publicBaseUrl } from "#lib/api/http/host-check";
import "./globals.css";

/*
 * The Latin parts of the typeface, a third of the whole: text is painted sooner on a slow line. Letters beyond
 * Latin-1 have a file of their own, fetched if one occurs; other scripts are shown in the system's fonts.
 */
const geist = localFont({
  src: "../node_modules/@fontsource-variable/geist/files/geist-latin-wght-normal.woff2",
  variable: "--font-geist",
  weight: "100 900",
});
const geistExtended = localFont({
  src: "../node_modules/@fontsource-variable/geist/files/geist-latin-ext-wght-normal.woff2",
  variable: "--font-geist-extended",
  weight: "100 900",
  preload: false,
  adjustFontFallback: false,
  declarations: [{ prop: "unicode-range", value: "U+0100-02BA, U+1E00-1E9F, U+1EF2-1EFF" }],
});
/** No preload: no page begins with this font. */
const geistMono = localFont({
  src: "../node_modules/@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2",
  variable: "--font-geist-mono",
  weight: "100 900",
  preload: false,
  adjustFontFallback: false,
  fallback: ["ui-monospace", "SFMono-Regular", "Menlo", "Liberation Mono", "monospace"],
});

const description =
  "Signed, publicly verifiable records of what software agents did, and proof that a human approved it.";

export function generateMetadata(): Metadata {
  return {
    metadataBase: new URL(publicBaseUrl()),
    title: { default: "Countersign", template: "%s · Countersign" },
    description,
    applicationName: "Countersign",
    // Title and description are each page's own.
    openGraph: { siteName: "Countersign", type: "website", locale: "en" },
    formatDetection: { telephone: false, date: false, address: false, email: false },
  };
}

export const viewport: Viewport = {
  colorScheme: "light dark",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#fafaf8" },
    { media: "(prefers-color-scheme: dark)", color: "#0f1216" },
  ],
};

/** Reading the cookie here renders every page per request, which its CSP nonce needs anyway. */
export default async function RootLayout({ children }: { readonly children: ReactNode }) {
  const theme = parseTheme((await cookies()).get(themeCookieName)?.value);
  return (
    <html
      lang="en"
      className={`${geist.variable} ${geistExtended.variable} ${geistMono.variable}`}
      {...(theme === "system" ? {} : { "data-theme": theme })}
    >
      <body className="flex flex-col bg-canvas font-sans text-ink antialiased">
        <SkipLink href="#main">Skip to content</SkipLink>
        <SiteChrome>
          <SiteHeader theme={theme} />
        </SiteChrome>
        <main id="main" tabIndex={-1} className="w-full flex-1 outline-none">
          {children}
        </main>
        <SiteChrome>
          <SiteFooter />
        </SiteChrome>
      </body>
    </html>
  );
}
