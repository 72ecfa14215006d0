import { useMemo } from 'preact/hooks';
import { bodyBytes, decodeText, type Bytes } from '../../content/bytes.ts';
import { kindOf, type BodyKind } from '../../content/kind.ts';
import type { Entry } from '../../model/entry.ts';

/** The body of an entry, as far as it is loaded. */
export interface Content {
  bytes: Bytes;
  kind: BodyKind;
  isCut: boolean;
  /** All of it as text, where it is text. */
  text: string | undefined;
}

/**
 * Found out once for each body: an entry that is read again has the same one.
 * @param whole the body, where the entry has but its beginning
 */
export function useContent(entry: Entry, whole: Bytes | undefined): Content {
  const { body, body_encoding, content_type, size } = entry;
  return useMemo(() => {
    const bytes = whole ?? bodyBytes({ body, body_encoding });
    const isCut = bytes.length < size;
    const kind = kindOf(bytes, content_type, isCut);
    const text = kind.kind === 'image' ? undefined : (kind.text ?? decodeText(bytes, isCut));
    return { bytes, kind, isCut, text };
  }, [body, body_encoding, content_type, size, whole]);
}
