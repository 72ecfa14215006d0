import type { ComponentChild } from 'preact';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';

export function BodyView({ entry }: { entry: LogEntry }): ComponentChild {
  return el('pre', null, entry.body);
}
