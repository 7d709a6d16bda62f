"use client";
/**
 * One request to the wallet through IDKit's headless hook: QR code on a desktop, link on a phone. Its widget is not
 * used: it wants inline styles and a foreign host's fonts, and its retry uses one RP signature twice.
 */
import { deviceLegacy, orbLegacy, proofOfHuman, useIDKitRequest } from "@worldcoin/idkit";
import { QRCodeSVG } from "qrcode.react";
import { useEffect, useRef } from "react";
import { buttonClass } from "#components/ui/button-style";
import { DevicePhoneMobileIcon } from "#components/ui/icons";
import type { WalletPreset, WorldIdStart } from "#lib/api/schemas/approval-view";
import type { AskedPresets } from "./world-id-words";

const presets = { proof_of_human: proofOfHuman, orb_legacy: orbLegacy, device_legacy: deviceLegacy };

interface WalletRequestProps {
  readonly start: WorldIdStart;
  readonly preset: WalletPreset;
  /** Computed by this browser, not the server's word. */
  readonly signal: string;
  /** Shown by the wallet, so that who scans a relayed code can see what it is for. */
  readonly description: string;
  readonly onProof: (result: unknown) => void;
  readonly onError: (code: string, asked: AskedPresets) => void;
}

/** No `return_to`: it would put this page's secret address into a link that leaves the browser. */
function useRequest({ start, preset, signal, description }: WalletRequestProps) {
  const { bridge_url, override_connect_base_url } = start;
  return useIDKitRequest({
    app_id: start.app_id,
    action: start.action,
    action_description: description,
    rp_context: start.rp_context,
    environment: start.environment,
    allow_legacy_proofs: start.allow_legacy_proofs,
    preset: presets[preset]({ signal }),
    ...(bridge_url === undefined ? {} : { bridge_url }),
    ...(override_connect_base_url === undefined ? {} : { override_connect_base_url }),
  });
}

interface ConnectProps {
  readonly uri: string;
  /** The link leads to the test wallet of this machine, which no phone reaches. */
  readonly isStandIn: boolean;
}

function Connect({ uri, isStandIn }: ConnectProps) {
  const top = useRef<HTMLDivElement>(null);
  // The code appears after the click, below what was on the screen then.
  useEffect(() => {
    // Newer browsers return a promise, which React would take for a cleanup.
    top.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <div ref={top} className="flex flex-col items-center gap-4">
      <p className="text-center text-[15px] text-muted">
        World ID proves you're a person without saying who you are.
        {isStandIn ? "" : " You need a World ID in the World App."}
      </p>
      <div className="hidden flex-col items-center gap-3 md:flex">
        <p className="text-center text-[15px]">
          {isStandIn
            ? "Scan this code to open the test wallet. If your phone can't reach this machine, use the link below."
            : "Scan this code with the World App on your phone."}
        </p>
        <QRCodeSVG
          value={uri}
          size={264}
          level="M"
          marginSize={4}
          title={isStandIn ? "QR code for the test wallet" : "QR code for the World App"}
          className="rounded-md"
        />
      </div>
      <a
        href={uri}
        target="_blank"
        rel="noopener noreferrer"
        className={buttonClass("primary", "large", "w-full md:hidden")}
      >
        <DevicePhoneMobileIcon aria-hidden="true" className="size-5" />
        {isStandIn ? "Open the test wallet" : "Open the World App"}
      </a>
      <a
        href={uri}
        target="_blank"
        rel="noopener noreferrer"
        className="hidden min-h-8 items-center text-accent text-sm underline underline-offset-[3px] md:inline-flex"
      >
        {isStandIn ? "Open the test wallet" : "The World App is on this device"}
      </a>
      <details className="w-full text-sm md:hidden">
        <summary className="min-h-11 py-2.5 text-accent underline underline-offset-[3px]">
          Show a code for another phone
        </summary>
        <div className="mt-2 flex justify-center">
          <QRCodeSVG value={uri} size={240} level="M" marginSize={4} title="QR code for the World App" />
        </div>
      </details>
    </div>
  );
}

export function WalletRequest(props: WalletRequestProps) {
  const { start, preset, onProof, onError } = props;
  const request = useRequest(props);
  const { open, isSuccess, isError, result, errorCode, connectorURI, isInWorldApp } = request;
  const isShown = connectorURI !== null || isInWorldApp;
  useEffect(() => open(), [open]);
  useEffect(() => {
    if (isSuccess && result !== null) onProof(result);
  }, [isSuccess, result, onProof]);
  useEffect(() => {
    if (isError) onError(errorCode ?? "generic_error", { start, preset, isShown });
  }, [isError, errorCode, start, preset, isShown, onError]);

  const status = request.isAwaitingUserConfirmation
    ? "Your wallet has received the request. Review and confirm it there."
    : "Waiting for your wallet.";
  return (
    <div>
      {request.isAwaitingUserConfirmation || isInWorldApp || connectorURI === null ? null : (
        <Connect uri={connectorURI} isStandIn={start.override_connect_base_url !== undefined} />
      )}
      <p role="status" className="mt-3 text-center text-[15px] text-muted">
        {isShown ? status : "Preparing the request …"}
      </p>
    </div>
  );
}
