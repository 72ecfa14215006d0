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

/** Found out once for each body: an entry that is read again has the same one. */
export function useContent({ body, body_encoding, content_type, body_truncated, size }: Entry): Content {
  return useMemo(() => {
    const bytes = bodyBytes({ body, body_encoding });
    const isCut = body_truncated === true || bytes.length < size;
    const kind = kindOf(bytes, content_type, isCut);
    const text = kind.kind === 'image' ? undefined : (kind.text ?? decodeText(bytes, isCut));
    return { bytes, kind, isCut, text };
  }, [body, body_encoding, content_type, body_truncated, size]);
}
