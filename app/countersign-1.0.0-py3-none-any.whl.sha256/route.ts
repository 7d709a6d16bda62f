import { operation } from "#lib/server/next/next-host";

export const GET = operation("retiredPythonWheelChecksum");
