import { createHash } from 'node:crypto';
import type { LogEntry } from './answers.ts';
import { presentRequest } from './log-entry.ts';
import type { DecodedCapture } from './capture-job.ts';

/** The only event that the service sends; its payload is a log entry. */
export const REQUEST_EVENT = 'request';

/** An event leaves a longer body out; the detail route has it. */
export const EVENT_MAX_BODY_BYTES = 256 * 1024;

/** A brief event cuts a longer body: enough to recognise a capture, and to filter by. */
export const BRIEF_MAX_BODY_BYTES = 16 * 1024;

/**
 * Why a socket is closed, as WebSocket close code and reason (RFC 6455, section 7.4). IANA registers 1012 and 1013;
 * 4000 to 4999 are for private use, and follow HTTP's statuses here.
 */
export const CLOSE = {
  restarting: { code: 1012, reason: 'this process is stopping; connect again' },
  interrupted: { code: 1013, reason: 'live events were interrupted; connect again and catch up' },
  unauthorized: { code: 4401, reason: 'the token is not valid any more' },
  too_slow: { code: 4408, reason: 'too many bytes are waiting to be read; connect again and catch up' },
  too_many_messages: { code: 4429, reason: 'too many messages' },
} as const;

export type CloseReason = keyof typeof CLOSE;

/** Hashed to one length, because the adapter treats a name of 20 characters as a socket's own room. */
export function userRoom(userId: string): string {
  return `user:${createHash('sha256').update(userId).digest('hex')}`;
}

/** A broadcast is the same for all members of a room, so brief events have a room of their own. */
export function endpointRoom(endpointId: string, bodyBytes = EVENT_MAX_BODY_BYTES): string {
  return isBrief(bodyBytes) ? `endpoint:${endpointId}:${bodyBytes}` : `endpoint:${endpointId}`;
}

/** Whether events with so much of a body cut longer ones, and do not leave them out. */
export function isBrief(bodyBytes: number): boolean {
  return bodyBytes === BRIEF_MAX_BODY_BYTES;
}

/** The event of a stored capture. */
export function presentEvent(capture: DecodedCapture & { seq: number }, bodyBytes = EVENT_MAX_BODY_BYTES): LogEntry {
  const { body } = capture;
  const length = body.length <= bodyBytes || isBrief(bodyBytes) ? bodyBytes : 0;
  return presentRequest({ ...capture, size: body.length, body: body.subarray(0, length) });
}
