import type { ComponentChild } from 'preact';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';

export function HeadersView({ entry }: { entry: LogEntry }): ComponentChild {
  return el('pre', null, JSON.stringify(entry.headers, null, 2));
}
