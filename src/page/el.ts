import { h, type ComponentChild, type ComponentChildren, type JSX } from 'preact';

type Tags = JSX.IntrinsicElements;

type Unsafe = 'dangerouslySetInnerHTML' | 'ref';

/** What an `img` may have depends on its `alt`; other tags may get what is known only when they are drawn. */
type Known<K extends keyof Tags> = K extends 'img' ? OfEach<Tags[K]> : Omit<Tags[K], Unsafe>;
type OfEach<T> = T extends unknown ? Omit<T, Unsafe> : never;

/** Attributes of a tag. Raw HTML is no part of them: whatever is captured is shown as text. */
export type Attributes<K extends keyof Tags> = Known<K> & {
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
