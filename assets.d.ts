/** Imports besides code: guides as text (next.config.ts, turbopack.rules), and the style sheet. */
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.css";
/** A real provider, for tests of sign-in (e2e/support/oidc-provider.ts). */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export class Provider {
    constructor(issuer: string, configuration: object);
    Grant: new (of: {
      clientId: string;
      accountId: string;
    }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
    callback(): RequestListener;
    interactionFinished(request: unknown, response: unknown, result: object): Promise<void>;
    interactionDetails(request: unknown, response: unknown): Promise<{ uid: string }>;
    on(event: string, listener: (...given: unknown[]) => void): void;
  }
}
declare module "proxy-from-env" {
  /** Empty: none. */
  export function getProxyForUrl(url: string | URL): string;
}
declare module "pdfkit" {
  /** Has no types of its own: components/verify/pdf-document.tsx says what is used. */
  const Kit: unknown;
  export default Kit;
}
