import { operation } from "#lib/server/next/api-route";

export const GET = operation("sigstore_trusted_root");
