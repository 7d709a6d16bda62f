import { dispatch } from "#lib/http/operations";

export const GET = (request: Request) => dispatch(request);
