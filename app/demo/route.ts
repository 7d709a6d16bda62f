/** POST /demo: makes a demo request. A refusal leads back to the landing page, which explains it. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { AppError, type ErrorName } from "#lib/errors";
import { answerPlainForm } from "#lib/server/pages/plain-form";
import { requestDemo } from "#lib/services/portal/demo";

const explained: Partial<Record<ErrorName, string>> = {
  rate_limit_exceeded: "limit",
  too_many_pending: "busy",
};

export const POST = forOwnHosts((request: Request) =>
  answerPlainForm(request, "/#approve", async ({ context }, ip) => {
    try {
      return await requestDemo(context, ip);
    } catch (error) {
      const reason = error instanceof AppError ? explained[error.errorName] : undefined;
      if (reason === undefined) throw error;
      return `/?demo=${reason}#approve`;
    }
  }),
);
