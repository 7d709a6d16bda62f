import { operation } from "#lib/runtime/server/next-routes";

export const GET = operation("pythonWheel");
