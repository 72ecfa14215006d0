import { h, type ComponentChild } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { countOf } from '../../content/count.ts';
import { formatCount } from '../../content/size.ts';
import { formatTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import { pathBehindKey } from '../../model/entry.ts';
import { searchProblem } from '../../model/filter.ts';
import { createDeletion, type Deletion, type DeletionState } from '../../state/deletion.ts';
import type { Inspector } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';
import { Visible } from '../visible.ts';
import { Modal } from './modal.ts';

/** Asks before entries are deleted, with their number, and shows how far it has come. */
export function DeleteEntries({
  ids,
  ofFilter = false,
}: {
  ids: readonly string[];
  ofFilter?: boolean;
}): ComponentChild {
  const inspector = useInspector();
  const { address, dialog } = inspector;
  const problem = ofFilter ? searchProblem(address.get().filter) : undefined;
  const made = useRef<Deletion>(undefined);
  made.current ??= beginDeletion(inspector, ids, ofFilter && problem === undefined);
  const deletion = made.current;
  const state = useStore(deletion.state);
  const { step } = state;
  useEffect(() => () => void end(inspector, deletion), []);
  useEffect(() => {
    if (step === 'deleted') dialog.set(undefined);
  }, [step]);
  return h(
    Modal,
    {
      title: ofFilter ? 'Delete all that match' : 'Delete requests',
      actions: actionOf(deletion, state),
      closing: step === 'asking' || step === 'finding' ? 'Cancel' : 'Close',
    },
    problem !== undefined && el('p', null, `${problem}. What is loaded here can be deleted.`),
    el('p', { role: 'status' }, inWords(state, ofFilter)),
    ids.length === 1 && h(EntryLine, { id: ids[0] as string }),
    state.skipped > 0 &&
      el(
        'p',
        null,
        `${countOf(state.skipped, 'request')} had bodies too long to be searched, and are left as they are.`,
      ),
    step === 'deleting' && el('progress', { max: state.found, value: state.gone, 'aria-label': 'Deleted' }),
    state.error !== undefined && el('p', { class: 'error', role: 'alert' }, state.error),
  );
}

/** Which one is to be deleted, as far as that is loaded. */
function EntryLine({ id }: { id: string }): ComponentChild {
  const { open, detail, preferences } = useInspector();
  const opened = detail.state.get();
  const entry = open.get()?.feed.book.get(id) ?? (opened?.id === id ? opened.entry : undefined);
  if (entry === undefined) return null;
  const { method, path, created_at: time } = entry;
  return el(
    'p',
    { class: 'deleted-entry' },
    h(Visible, { text: `${method} ${pathBehindKey(path)}` }),
    ` ${formatTime(time, preferences.zone.get())}`,
  );
}

/** What can be done now: nothing where nothing was found. */
function actionOf(deletion: Deletion, { step, found, confirmed }: DeletionState): ComponentChild {
  if (step === 'deleting') return el('button', { type: 'button', onClick: () => void deletion.stop() }, 'Stop');
  if (step === 'failed' || step === 'stopped')
    return el(
      'button',
      { type: 'button', class: 'primary', onClick: () => deletion.again() },
      step === 'failed' ? 'Try again' : 'Go on',
    );
  if (found === 0 || step === 'deleted') return undefined;
  return el(
    'button',
    { type: 'button', class: 'danger', autofocus: true, disabled: confirmed, onClick: () => deletion.confirm() },
    step === 'asking' ? `Delete ${countOf(found, 'request')}` : 'Delete all when found',
  );
}

function inWords({ step, found, more, gone, confirmed }: DeletionState, ofFilter: boolean): string {
  const matching = ofFilter ? ' that match the filter' : '';
  switch (step) {
    case 'finding':
      return `At least ${countOf(found, 'request')}${matching}. Counting …${confirmed ? ' Deleting begins after that.' : ''}`;
    case 'asking':
      if (found === 0) return 'No request matches the filter.';
      if (more) return `Delete ${countOf(found, 'request')}${matching}? There are more; repeat it for those.`;
      return `Delete ${countOf(found, 'request')}${matching}? This cannot be undone.`;
    case 'deleting':
    case 'deleted':
      return `Deleted ${formatCount(gone)} of ${formatCount(found)}`;
    case 'stopped':
    case 'failed':
      return confirmed
        ? `Stopped: deleted ${formatCount(gone)} of ${formatCount(found)}`
        : `Found ${countOf(found, 'request')} so far`;
  }
}

/** @param isSearch whether the whole endpoint is searched for what matches the filter */
function beginDeletion(inspector: Inspector, given: readonly string[], isSearch: boolean): Deletion {
  const { api, address, open } = inspector;
  const opened = open.get();
  const { filter } = address.get();
  const loaded = given.length > 0 ? given : (opened?.shown.state.get().rows ?? []).map(({ id }) => id);
  // A user has one search at a time.
  if (isSearch) opened?.search.halt();
  const ids = isSearch && opened !== undefined ? { endpointId: opened.feed.endpointId, filter } : loaded;
  return createDeletion({ api, ids, onDeleted: (gone) => takeOut(inspector, gone) });
}

/** Takes entries out of the page. Where the open one is among them, the one below it is opened. */
function takeOut({ address, open, selection, go }: Inspector, ids: ReadonlySet<string>): void {
  const opened = open.get();
  const { request, compare } = address.get();
  if (request !== undefined && ids.has(request))
    go({ request: neighbour(opened?.shown.state.get().rows ?? [], ids, request) }, true);
  else if (compare !== undefined && ids.has(compare)) go({ compare: undefined }, true);
  if (ids.intersection(selection.ids.get()).size > 0) selection.clear();
  opened?.feed.forget(ids);
  opened?.search.forget(ids);
}

/** @param rows the newest one last */
function neighbour(rows: readonly { id: string }[], ids: ReadonlySet<string>, id: string): string | undefined {
  const at = rows.findIndex((row) => row.id === id);
  if (at === -1) return undefined;
  const stays = (row: { id: string }): boolean => !ids.has(row.id);
  return (rows.slice(0, at).findLast(stays) ?? rows.slice(at + 1).find(stays))?.id;
}

/** Closing the dialog stops what runs. */
async function end({ say }: Inspector, deletion: Deletion): Promise<void> {
  await deletion.stop();
  const { gone, found, step } = deletion.state.get();
  if (gone === 0) return;
  say(
    step === 'deleted'
      ? `${countOf(gone, 'request')} deleted`
      : `Deleted ${formatCount(gone)} of ${formatCount(found)}, then stopped`,
  );
  // After the dialog has given the focus back to where it was.
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.list-pane [role=listbox]')?.focus());
}
