"use client";
/**
 * The visitor's own verification: fetches the evidence and the keys, verifies in a worker with the offline
 * verifier's code, and hands the outcome to whatever on the page shows it.
 */
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import type { VerifierReport } from "#lib/verifier/report/report";
import { compareWithServer, type ServedClaims } from "./compare";
import { verifyInWorker } from "./run-worker";

export type BrowserCheck =
  | { readonly phase: "waiting" }
  | { readonly phase: "failed"; readonly reason: string }
  | { readonly phase: "done"; readonly report: VerifierReport; readonly disagreements: readonly string[] };

const CheckContext = createContext<BrowserCheck>({ phase: "waiting" });

export function useBrowserCheck(): BrowserCheck {
  return useContext(CheckContext);
}

async function fetchText(path: string): Promise<string> {
  const response = await fetch(path, { cache: "no-store", headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.text();
}

async function checkAgain(id: string, page: ServedClaims): Promise<BrowserCheck> {
  try {
    const [answer, keys] = await Promise.all([fetchText(`/v1/verify/${id}`), fetchText("/v1/pubkey")]);
    const report = await verifyInWorker({ input: answer, trust: keys, expected: { attestationId: id } });
    return { phase: "done", report, disagreements: compareWithServer(page, JSON.parse(answer), report) };
  } catch (error) {
    return { phase: "failed", reason: error instanceof Error ? error.message : "it could not be run" };
  }
}

interface BrowserCheckProviderProps {
  readonly id: string;
  /** Claims of the page as the server made it. */
  readonly page: ServedClaims;
  readonly children: ReactNode;
}

export function BrowserCheckProvider({ id, page, children }: BrowserCheckProviderProps) {
  const [check, setCheck] = useState<BrowserCheck>({ phase: "waiting" });
  const [first] = useState(page);
  useEffect(() => {
    let isCurrent = true;
    void checkAgain(id, first).then((outcome) => {
      if (isCurrent) setCheck(outcome);
    });
    return () => {
      isCurrent = false;
    };
  }, [id, first]);
  return <CheckContext value={check}>{children}</CheckContext>;
}
