import type { ComponentChild } from 'preact';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';

/** What can be done with an entry. */
export function Actions({ entry }: { entry: LogEntry }): ComponentChild {
  const { dialog } = useInspector();
  return el(
    'div',
    { class: 'actions' },
    el('button', { onClick: () => dialog.set({ name: 'delete-entries', ids: [entry.id] }) }, 'Delete'),
  );
}
