"use client";
import { useEffect, useRef, useState } from "react";
import { postJson } from "#components/approve/post-json";
import { Button } from "#components/ui/button";
import { useRefresh } from "#components/ui/router";
import { Timestamp } from "#components/ui/timestamp";
import { useKeptFocus } from "#components/ui/use-kept-focus";
/** Devices that are notified of requests, this one among them if the person wants. */
import type { ShownDevice } from "#lib/api/schemas/portal";
import type { PasskeyAnswer } from "#lib/api/schemas/rosters";

interface DeviceListProps {
  /** Address that changes are posted to. */
  readonly path: string;
  readonly devices: readonly ShownDevice[];
  /** VAPID's public key in base64url. */
  readonly pushKey: string;
}

const worker = "/push-worker.js";

const toBytes = (base64Url: string) =>
  Uint8Array.from(atob(base64Url.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));

async function hashEndpoint(endpoint: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(endpoint));
  const text = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** "Chrome on Android", as far as the browser says. */
function nameDevice(): string {
  const { userAgent } = navigator;
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find([
    [/Edg/, "Edge"],
    [/Firefox|FxiOS/, "Firefox"],
    [/Chrome|CriOS/, "Chrome"],
    [/Safari/, "Safari"],
  ]);
  const system = find([
    [/iPhone/, "iPhone"],
    [/iPad/, "iPad"],
    [/Android/, "Android"],
    [/Mac/, "Mac"],
    [/Windows/, "Windows"],
    [/Linux/, "Linux"],
  ]);
  return [browser ?? "Browser", system].filter(Boolean).join(" on ");
}

async function findMark(): Promise<string | null> {
  const registration = await navigator.serviceWorker.getRegistration("/");
  const subscription = await registration?.pushManager.getSubscription();
  return subscription ? hashEndpoint(subscription.endpoint) : null;
}

async function subscribe(pushKey: string): Promise<PushSubscription> {
  await navigator.serviceWorker.register(worker);
  const { pushManager } = await navigator.serviceWorker.ready;
  const applicationServerKey = toBytes(pushKey);
  const known = await pushManager.getSubscription();
  const old = known?.options.applicationServerKey;
  // A service with another key can't use the subscription that was made for the one before.
  if (
    known &&
    old &&
    btoa(String.fromCharCode(...new Uint8Array(old))) !== btoa(String.fromCharCode(...applicationServerKey))
  )
    await known.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
}

const lost = "We lost the connection and don't know whether this went through. Reload to see.";

export function DeviceList({ path, devices, pushKey }: DeviceListProps) {
  /** Undefined while nobody knows; false if this browser can't. */
  const [mark, setMark] = useState<string | null | false>();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefresh();
  const frame = useRef<HTMLDivElement>(null);
  useKeptFocus(frame, isBusy);
  useEffect(() => {
    if ("serviceWorker" in navigator && "PushManager" in window)
      void findMark().then(setMark, () => setMark(false));
    else setMark(false);
  }, []);

  async function change(body: object): Promise<void> {
    const answer = await postJson(path, body);
    const result: PasskeyAnswer = answer.ok ? (answer.body as PasskeyAnswer) : { ok: false, message: lost };
    setProblem(result.ok ? null : result.message);
    if (result.ok) await refresh();
  }

  async function run(work: () => Promise<void>): Promise<void> {
    setIsBusy(true);
    await work().catch(() =>
      setProblem("This browser refused. Its settings for this site decide about notifications."),
    );
    setIsBusy(false);
  }

  const add = () =>
    run(async () => {
      const subscription = await subscribe(pushKey);
      await change({ action: "add", name: nameDevice(), subscription: subscription.toJSON() });
      setMark(await hashEndpoint(subscription.endpoint));
    });

  const remove = (device: ShownDevice) =>
    run(async () => {
      if (device.mark === mark) {
        const registration = await navigator.serviceWorker.getRegistration("/");
        await (await registration?.pushManager.getSubscription())?.unsubscribe();
        setMark(null);
      }
      await change({ action: "remove", device_id: device.id });
    });

  const isHere = devices.some((device) => device.mark === mark);
  return (
    <div ref={frame} tabIndex={-1} className="flex flex-col gap-4 outline-none">
      <p className="text-muted">
        A device that is notified gets requests within seconds, in place of the email; further ones of the
        same agent together, a minute later. You decide on the page that it opens.
      </p>
      {devices.length === 0 ? null : (
        <ul>
          {devices.map((device) => (
            <li
              key={device.id}
              className="flex flex-wrap items-center justify-between gap-3 border-line border-t py-3 first:border-t-0"
            >
              <div>
                <span className="block font-medium">
                  {device.name}
                  {device.mark === mark ? " (this device)" : null}
                </span>
                <span className="block text-muted text-sm">
                  added <Timestamp iso={device.createdAt} />
                  {device.isFailing ? ". The last message wasn't taken: you got an email instead" : null}
                </span>
              </div>
              <Button variant="secondary" size="small" disabled={isBusy} onClick={() => void remove(device)}>
                Remove<span className="sr-only"> {device.name}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      {mark === false ? (
        <p className="text-muted text-sm">
          This browser can't be notified. On an iPhone or iPad, first add this page to the home screen and
          open it from there.
        </p>
      ) : isHere ? null : (
        <div>
          <Button variant="secondary" disabled={isBusy || mark === undefined} onClick={() => void add()}>
            Notify this device
          </Button>
        </div>
      )}
      <p role="status" className="font-medium text-fail text-sm empty:hidden">
        {problem}
      </p>
    </div>
  );
}
