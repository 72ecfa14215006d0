import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../el.ts';
import { useInspector } from './context.ts';

const SAID_MS = 2_000;

/** A button that copies a text, which may have to be made first, and says so. */
export function CopyButton({
  text,
  label,
  what,
}: {
  text: string | (() => string | Promise<string>);
  label: string;
  /** What is copied, for the notice: "The URL". */
  what: string;
}): ComponentChild {
  const { say } = useInspector();
  const [said, setSaid] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(typeof text === 'string' ? text : await text());
    setSaid(true);
    say(`${what} is copied`);
    setTimeout(() => setSaid(false), SAID_MS);
  };
  return el('button', { type: 'button', onClick: () => void copy() }, said ? 'Copied' : label);
}

/** Over plain HTTP on a LAN address there is no `navigator.clipboard`. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'off-screen';
  const focused = document.activeElement;
  // Inside an open dialog, because everything else is inert then.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
}
