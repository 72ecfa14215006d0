export type Kind = 'empty' | 'json' | 'ndjson' | 'form' | 'multipart' | 'xml' | 'text' | 'image' | 'binary';

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/avif';

const CLAIMS: [kind: Kind, type: RegExp][] = [
  ['ndjson', /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonl|jsonlines|x-jsonlines|json-seq)$/],
  ['json', /[/+]json$/],
  ['form', /^application\/x-www-form-urlencoded$/],
  ['multipart', /^multipart\//],
  ['xml', /[/+]xml$/],
  ['text', /^text\//],
  ['image', /^image\//],
];

const NOUNS: Record<Kind, string> = {
  empty: 'empty',
  json: 'JSON',
  ndjson: 'NDJSON',
  form: 'a form',
  multipart: 'multipart',
  xml: 'XML',
  text: 'text',
  image: 'an image',
  binary: 'binary',
};

const MAX_TYPE_CHARACTERS = 80;

/** What kind of body a content type promises; undefined where it promises none. */
export function claimOf(contentType: string): Kind | undefined {
  const type = bareType(contentType);
  return CLAIMS.find(([, pattern]) => pattern.test(type))?.[0];
}

/** Where a body isn't what its content type says: `Sent as text/plain, but it is JSON`. */
export function noteOf(contentType: string, kind: Kind, image?: ImageType): string | undefined {
  const type = bareType(contentType);
  const claim = claimOf(contentType);
  if (type === '' || type === 'application/octet-stream' || isSame(type, claim, kind, image)) return undefined;
  if (image !== undefined) return `Sent as ${type}, but it is ${image}`;
  // What is only text or bytes has no name of its own that would help.
  const isOther = kind !== 'text' && kind !== 'binary';
  if (isOther) return `Sent as ${type}, but it is ${NOUNS[kind]}`;
  return claim === undefined ? undefined : `Sent as ${type}, but it is not ${NOUNS[claim]}`;
}

function isSame(type: string, claim: Kind | undefined, kind: Kind, image: ImageType | undefined): boolean {
  if (image !== undefined) return type.replace(/^image\/p?jpg$/, 'image/jpeg') === image;
  return claim === kind || (type === 'text/html' && kind === 'xml');
}

function bareType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase().slice(0, MAX_TYPE_CHARACTERS);
}
