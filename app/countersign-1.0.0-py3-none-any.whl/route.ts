import { operation } from "#lib/server/next/next-routes";

export const GET = operation("retiredPythonWheel");
