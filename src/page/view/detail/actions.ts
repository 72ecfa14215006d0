import { h, type ComponentChild } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { recognise } from '../../content/provider.ts';
import { el } from '../../el.ts';
import { previousLike } from '../../state/comparable.ts';
import type { Inspector } from '../../state/inspector.ts';
import { lazy, useInspector } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { copyableBody, copyableCurl, copyableMessage, permalink } from './copies.ts';
import { DownloadButton } from './download.ts';
import { MoreMenu } from './more-menu.ts';
import { ProviderLine } from './provider-line.ts';

const Verify = lazy(async () => (await import('./verify.ts')).Verify);

/** Who sent an entry, and what can be done with it. */
export function Actions({ entry }: { entry: LogEntry }): ComponentChild {
  const inspector = useInspector();
  const { dialog, access } = inspector;
  const [verifyingId, setVerifyingId] = useState<string>();
  // The panel stays when another signed entry is opened, and leaves the focus where it is then.
  const verifying = verifyingId === entry.id || (verifyingId !== undefined && recognise(entry)?.signed === true);
  const wantsFocus = useRef(false);
  const toggle = (): void => {
    wantsFocus.current = !verifying;
    setVerifyingId(verifying ? undefined : entry.id);
  };
  const onShown = (field: HTMLElement): void => {
    if (wantsFocus.current) field.focus();
    wantsFocus.current = false;
  };
  return [
    h(ProviderLine, { entry }),
    el(
      'div',
      { class: 'actions', role: 'group', 'aria-label': 'Actions' },
      access === 'owner' &&
        el('button', { type: 'button', 'aria-expanded': verifying ? 'true' : 'false', onClick: toggle }, 'Verify'),
      h(CopyButton, {
        text: () => copyableCurl(inspector, entry),
        label: 'Copy as curl',
        what: 'The command',
      }),
      el('button', { type: 'button', onClick: () => compare(inspector, entry) }, 'Compare'),
      h(MoreMenu, null, h(FurtherActions, { entry, key: entry.id })),
      access === 'owner' &&
        el(
          'button',
          { type: 'button', class: 'danger', onClick: () => dialog.set({ name: 'delete-entries', ids: [entry.id] }) },
          'Delete',
        ),
    ),
    verifying && h(Verify, { entry, onShown, key: entry.id }),
  ];
}

function FurtherActions({ entry }: { entry: LogEntry }): ComponentChild {
  const inspector = useInspector();
  const { dialog, access } = inspector;
  const isOwner = access === 'owner';
  const isText = entry.body_encoding === 'utf8';
  return [
    isOwner && h(CopyButton, { text: permalink(entry), label: 'Copy link', what: 'The link' }),
    h(CopyButton, {
      text: () => copyableBody(inspector, entry),
      label: isText ? 'Copy body' : 'Copy body as Base64',
      what: 'The body',
    }),
    isText &&
      h(CopyButton, {
        text: () => copyableMessage(inspector, entry),
        label: 'Copy as raw HTTP',
        what: 'The message',
      }),
    h(DownloadButton, { entry, label: 'Save body as file' }),
    el(
      'button',
      { type: 'button', onClick: () => dialog.set({ name: 'compare-with', id: entry.id }) },
      'Compare with …',
    ),
    el(
      'button',
      {
        type: 'button',
        onClick: () => dialog.set({ name: 'export', endpointId: entry.endpoint_id, requestId: entry.id }),
      },
      'Export …',
    ),
    isOwner &&
      el(
        'button',
        {
          type: 'button',
          onClick: () => dialog.set({ name: 'shares', endpointId: entry.endpoint_id, requestId: entry.id }),
        },
        'Share links …',
      ),
  ];
}

/** With the last one before that is like it; where none is loaded, the user chooses. */
function compare({ open, go, dialog }: Inspector, entry: LogEntry): void {
  const previous = previousLike(open.get()?.feed.book.entries ?? [], entry);
  if (previous === undefined) dialog.set({ name: 'compare-with', id: entry.id });
  else go({ compare: previous.id });
}
