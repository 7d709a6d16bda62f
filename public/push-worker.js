/**
 * Service worker: shows what the server sends to this device (Web Push), and says when it is offline. It keeps no page:
 * an old one could show a request as waiting that is decided.
 */
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  const { title, body, url, tag } = event.data.json();
  const shown = { body, tag, renotify: true, icon: "/icon-192.png", data: { url } };
  event.waitUntil(self.registration.showNotification(title, shown));
});

/** A tap opens the page: nobody decides in a notification. */
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data.url, self.location.origin);
  if (url.origin === self.location.origin) event.waitUntil(self.clients.openWindow(url.href));
});

const offline = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>You are offline</title><main><h1>You are offline</h1>
<p>Requests can't be shown or decided now. Connect, and reload.</p><p><a href="">Reload</a></p></main></html>`;

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'",
  "cache-control": "no-store",
};

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate" || event.request.method !== "GET") return;
  event.respondWith(fetch(event.request).catch(() => new Response(offline, { status: 503, headers })));
});
