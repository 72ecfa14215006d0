/** What the server tells the page, by `meta` elements. */
export interface Settings {
  /** Where endpoints capture, without a trailing slash. */
  captureBase: string;
  /** Whether there are live events. */
  live: boolean;
  customResponses: 'off' | 'safe' | 'redirects';
}

export function readSettings(): Settings {
  return {
    captureBase: meta('capture-base') ?? location.origin,
    live: meta('live') !== 'false',
    customResponses: (meta('custom-responses') ?? 'off') as Settings['customResponses'],
  };
}

function meta(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="hookbay:${name}"]`)?.content;
}
