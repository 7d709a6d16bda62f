/** Where there is no Node: browsers and other runtimes know their proxies themselves. The other half is node-fetch.ts. */
export const fetchThroughProxy = (
  _url: string | URL | Request,
  _init?: RequestInit,
): Promise<Response> | null => null;
