import { h, type ComponentChild, type ComponentChildren, type JSX } from 'preact';

type Tags = JSX.IntrinsicElements;

type Unused = 'dangerouslySetInnerHTML' | 'ref';

/** What an `img` may have depends on its `alt`, so its type is a union. */
type Without<T> = T extends unknown ? Omit<T, Unused> : never;

/** Attributes of a tag. Raw HTML is no part of them: whatever is captured is shown as text. */
export type Attributes<K extends keyof Tags> = (K extends 'img' ? Without<Tags[K]> : Omit<Tags[K], Unused>) & {
  ref?: Tags[K]['ref'] | undefined;
} & { [data: `data-${string}`]: string | undefined };

/** An element of HTML or SVG. `h` would take any name as a tag, an attribute or an event; this takes the known ones. */
export function el<K extends keyof Tags>(
  tag: K,
  attributes: Attributes<K> | null,
  ...children: ComponentChildren[]
): ComponentChild {
  return h(tag as string, attributes as object | null, ...children);
}
