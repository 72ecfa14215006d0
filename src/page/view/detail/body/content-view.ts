import { h, type ComponentChild } from 'preact';
import type { Bytes } from '../../../content/bytes.ts';
import type { BodyKind } from '../../../content/kind.ts';
import { el } from '../../../el.ts';
import { FormView } from './form-view.ts';
import { HexView } from './hex-view.ts';
import { ImageView } from './image-view.ts';
import { JsonView } from './json-view.ts';
import { LINES_AT_FIRST } from './lines.ts';
import { MultipartView } from './multipart-view.ts';
import { NdjsonView } from './ndjson-view.ts';
import { TextView } from './text-view.ts';
import { XmlView } from './xml-view.ts';

const PART_LINES_AT_FIRST = 100;

/** A mail within a mail within a mail is shown as text. */
const MAX_DEPTH = 3;

interface ContentProps {
  bytes: Bytes;
  kind: BodyKind;
  /** Whether the end of them is missing. */
  isCut: boolean;
  /** How many lines are shown at first. */
  limit?: number;
  /** How many multiparts are around this content. */
  depth?: number;
}

/** Bytes as what they are. */
export function ContentView({ bytes, kind, isCut, limit = LINES_AT_FIRST, depth = 0 }: ContentProps): ComponentChild {
  const { text, mediaType, boundary } = kind;
  if (kind.kind === 'empty') return el('p', { class: 'note' }, depth === 0 ? 'The body is empty.' : 'Empty.');
  if (kind.kind === 'image' && mediaType !== undefined) return h(ImageView, { bytes, mediaType });
  if (kind.kind === 'multipart' && boundary !== undefined && depth < MAX_DEPTH)
    return h(MultipartView, {
      bytes,
      boundary,
      show: (part, its, cut) =>
        h(ContentView, { bytes: part, kind: its, isCut: cut, limit: PART_LINES_AT_FIRST, depth: depth + 1 }),
    });
  if (text === undefined) return h(HexView, { bytes });
  switch (kind.kind) {
    case 'json':
      return h(JsonView, { text, limit });
    case 'ndjson':
      return h(NdjsonView, { text });
    case 'form':
      return h(FormView, { text });
    case 'xml':
      return h(XmlView, { text, isCut, limit });
    default:
      return h(TextView, { text, limit });
  }
}
