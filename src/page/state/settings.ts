/** What the server tells the page, by `meta` elements. */
export interface Settings {
  /** Where endpoints capture, without a trailing slash. */
  captureBase: string;
  /** Whether this origin captures; otherwise only `captureBase` does, and the page's policy does not let it go there. */
  capturesHere: boolean;
  /** Whether there are live events. */
  live: boolean;
  customResponses: 'off' | 'safe' | 'redirects';
  access: Access;
}

/** Readers have a share link, which opens the page at `/s`: they see what the link opens, and change nothing. */
export type Access = 'owner' | 'reader';

export function readSettings(): Settings {
  return {
    captureBase: meta('capture-base') ?? location.origin,
    capturesHere: meta('captures-here') !== 'false',
    live: meta('live') !== 'false',
    customResponses: (meta('custom-responses') ?? 'off') as Settings['customResponses'],
    access: location.pathname.endsWith('/s') ? 'reader' : 'owner',
  };
}

function meta(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="hookbay:${name}"]`)?.content;
}
