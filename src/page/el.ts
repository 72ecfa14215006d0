import { h, type ComponentChild, type ComponentChildren, type JSX } from 'preact';

type Tags = JSX.IntrinsicElements;

/** Of each type of a union: what an `img` may have depends on its `alt`. */
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Attributes of a tag. Raw HTML is no part of them: whatever is captured is shown as text. */
export type Attributes<K extends keyof Tags> = Without<Tags[K], 'dangerouslySetInnerHTML' | 'ref'> & {
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
