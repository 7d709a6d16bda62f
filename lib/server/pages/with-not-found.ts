/**
 * Pages about something that isn't there. Next answers `notFound()` with a document that stays empty until its script runs.
 * So the page renders the words itself, and the production server gives them their status (page-failure.ts). Apart from
 * that file, which the server bundles: React is Next's own.
 */
import { type ComponentType, createElement, type ReactNode } from "react";
import { getApp } from "#lib/server/singleton";

const isNotFound = (error: unknown) =>
  error instanceof Error && "digest" in error && error.digest === "NEXT_HTTP_ERROR_FALLBACK;404";

/** `NotFound` in place of a page that calls `notFound()`. Next alone, and its router, get what was thrown. */
export const withNotFound =
  <Props>(page: (props: Props) => Promise<ReactNode>, NotFound: ComponentType) =>
  async (props: Props): Promise<ReactNode> => {
    try {
      return await page(props);
    } catch (error) {
      const answer = isNotFound(error) ? (await getApp()).pageAnswers.getStore() : undefined;
      if (answer === undefined) throw error;
      answer.isNotFound = true;
      return createElement(NotFound);
    }
  };
