import { operation, otherMethods } from "#lib/app/next-routes";

export const DELETE = operation("cancelAuthorization");
export const GET = operation("readAuthorization");
export const { HEAD, OPTIONS, PATCH, POST, PUT } = otherMethods;
