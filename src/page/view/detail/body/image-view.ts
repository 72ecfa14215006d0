import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Bytes } from '../../../content/bytes.ts';
import { formatCount } from '../../../content/size.ts';
import { el } from '../../../el.ts';
import { HexView } from './hex-view.ts';

/** A raster image, from bytes whose beginning says that they are one: the sender's content type plays no part. */
export function ImageView({ bytes, mediaType }: { bytes: Bytes; mediaType: string }): ComponentChild {
  const url = useBlobUrl(bytes, mediaType);
  const [size, setSize] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return [el('p', { class: 'note' }, 'The browser cannot show this image.'), h(HexView, { bytes })];
  return el(
    'figure',
    { class: 'image' },
    url !== undefined &&
      el('img', {
        src: url,
        alt: 'The image that was sent',
        decoding: 'async',
        onLoad: ({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setSize(`${formatCount(naturalWidth)} × ${formatCount(naturalHeight)} pixels`),
        onError: () => setBroken(true),
      }),
    el('figcaption', null, mediaType, size !== undefined && ` · ${size}`),
  );
}

function useBlobUrl(bytes: Bytes, type: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url;
}
