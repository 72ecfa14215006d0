/** What the server tells the page, by `meta` elements. */
export interface Settings {
  /** Where endpoints capture, without a trailing slash. */
  captureBase: string;
  /** Whether this origin captures; otherwise only `captureBase` does, and the page's policy does not let it go there. */
  capturesHere: boolean;
  /** Whether there are live events. */
  live: boolean;
  customResponses: 'off' | 'safe' | 'redirects';
}

export function readSettings(): Settings {
  return {
    captureBase: meta('capture-base') ?? location.origin,
    capturesHere: meta('captures-here') !== 'false',
    live: meta('live') !== 'false',
    customResponses: (meta('custom-responses') ?? 'off') as Settings['customResponses'],
  };
}

function meta(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="hookbay:${name}"]`)?.content;
}
