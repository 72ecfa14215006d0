import { ListenError } from './text.ts';

/** An event of a `text/event-stream`; `data` is empty for one that only moves the id. */
export interface StreamEvent {
  id: string;
  event: string;
  data: string;
}

/** Longer than the longest event: an entry whose body has 256 KiB of control characters, and all its headers twice. */
export const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/** Takes pieces of a stream and returns the events that they complete. Lines end with LF or CR LF. */
export function createEventParser(): (piece: string) => StreamEvent[] {
  let pending: string[] = [];
  let pendingLength = 0;
  let fields: StreamEvent = { id: '', event: '', data: '' };
  let heldLength = 0;

  function* takeLine(line: string): Generator<StreamEvent> {
    heldLength += line.length;
    if (line === '') {
      if (fields.id !== '' || fields.event !== '' || fields.data !== '') yield fields;
      fields = { id: '', event: '', data: '' };
      heldLength = 0;
      return;
    }
    const [, name, value = ''] = /^(id|event|data)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (name === 'data') fields.data += fields.data === '' ? value : `\n${value}`;
    else if (name !== undefined) fields[name as 'id' | 'event'] = value;
  }

  return (piece) => {
    const lines = piece.split('\n');
    // The last part has no end yet. Parts are joined once, so that a long line in many pieces costs no more.
    const rest = lines.pop() as string;
    const events: StreamEvent[] = [];
    for (const [i, line] of lines.entries()) {
      const whole = i === 0 ? pending.join('') + line : line;
      if (i === 0) [pending, pendingLength] = [[], 0];
      events.push(...takeLine(whole.endsWith('\r') ? whole.slice(0, -1) : whole));
    }
    pending.push(rest);
    pendingLength += rest.length;
    if (pendingLength + heldLength > MAX_EVENT_LENGTH) throw new ListenError('an event is too long');
    return events;
  };
}
