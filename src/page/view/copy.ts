import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../el.ts';
import { messageOf } from '../state/api.ts';
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
    try {
      await copyText(typeof text === 'string' ? text : await text());
    } catch (error) {
      return say(`${what} could not be copied: ${messageOf(error)}`);
    }
    setSaid(true);
    say(`${what} is copied`);
    setTimeout(() => setSaid(false), SAID_MS);
  };
  // Both labels have their place, so that the button keeps its width.
  const face = (words: string, isShown: boolean): ComponentChild =>
    el('span', { 'data-hidden': isShown ? undefined : 'true' }, words);
  return el(
    'button',
    { type: 'button', class: 'copy', onClick: () => void copy() },
    face(label, !said),
    face('Copied', said),
  );
}

/**
 * Over plain HTTP on a LAN address there is no `navigator.clipboard`, and elsewhere it can be refused.
 * @throws Error when nothing is copied
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    const isDone = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (isDone) return;
  }
  if (!copySelected(text)) throw new Error('the browser does not allow it');
}

function copySelected(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'off-screen';
  const focused = document.activeElement;
  // Inside an open dialog, because everything else is inert then.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isDone;
}
