import type { ComponentChild } from 'preact';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';

export function QueryView({ entry }: { entry: LogEntry }): ComponentChild {
  return el('pre', null, JSON.stringify(entry.query, null, 2));
}
