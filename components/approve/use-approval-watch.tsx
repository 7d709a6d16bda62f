"use client";
/**
 * Notices decisions made elsewhere: reads the public state of the request while the page is visible, and has the server
 * render the page again when it differs. Reading changes nothing.
 */
import { useEffect, useRef, useState } from "react";
import { useRefresh } from "#components/ui/router";
import type { ApprovalView } from "#lib/api/schemas/approval-view";

const pendingPollMs = 4_000;
/** Polls on after an approval: the agent may yet record its receipt. */
const receiptPollMs = 15_000;

interface PublicState {
  status?: unknown;
  approvals?: { given?: unknown };
}

/** Undefined if the service is out of reach: the next look may find it. */
async function readPublicState(requestId: string): Promise<PublicState | undefined> {
  try {
    const response = await fetch(`/v1/authorize/${encodeURIComponent(requestId)}`, {
      cache: "no-store",
      credentials: "omit",
    });
    return response.ok ? ((await response.json()) as PublicState) : undefined;
  } catch {
    return undefined;
  }
}

export function useApprovalWatch(view: ApprovalView): {
  statusAtOpening: ApprovalView["status"];
  refresh: () => void;
} {
  const [statusAtOpening] = useState(view.status);
  const refresh = useRefresh();
  const latest = useRef(view);
  useEffect(() => {
    latest.current = view;
  }, [view]);

  const { status } = view;
  const awaitsReceipt = status === "approved" && view.attestation === null && view.revoked_at === null;
  const awaitsAnswer = status === "pending" && view.questions.some(({ answer }) => answer === null);
  useEffect(() => {
    if (status !== "pending" && !awaitsReceipt) return;
    const look = async () => {
      if (document.visibilityState !== "visible") return;
      // Receipts and answers are not in the public state.
      if (awaitsReceipt || awaitsAnswer) return void refresh();
      const seen = await readPublicState(latest.current.request_id);
      if (seen === undefined) return;
      const { status: shownStatus, approvals } = latest.current;
      if (seen.status !== shownStatus || seen.approvals?.given !== approvals.given) await refresh();
    };
    const timer = setInterval(
      () => void look(),
      awaitsReceipt || awaitsAnswer ? receiptPollMs : pendingPollMs,
    );
    const onVisible = () => void look();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [status, awaitsReceipt, awaitsAnswer, refresh]);
  return { statusAtOpening, refresh };
}
