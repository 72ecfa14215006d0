import { connect } from 'node:net';

/** A client's connection that sends one request at a time. */
export interface Connection {
  send(request: Buffer): void;
  close(): void;
}

export interface ConnectionEvents {
  opened: () => void;
  /** The answer to the last request is complete. */
  answered: (status: number) => void;
  /** The connection has ended without being asked to, or could not be opened. */
  broken: (code: string) => void;
}

const READ_BYTES = 64 * 1024;

/** Reads into one buffer, so that the generator costs little beside what it measures. */
export function openConnection(port: number, { opened, answered, broken }: ConnectionEvents): Connection {
  const read = Buffer.allocUnsafe(READ_BYTES);
  let received = '';
  let ended = false;
  function end(code: string): void {
    if (!ended) broken(code);
    ended = true;
  }
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: read,
      callback(count) {
        received += read.toString('latin1', 0, count);
        const status = statusOf(received);
        if (status === undefined) return true;
        received = '';
        answered(status);
        return true;
      },
    },
  });
  socket.on('connect', opened);
  socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  socket.on('close', () => end('closed'));
  return {
    send: (request) => void socket.write(request),
    close() {
      ended = true;
      socket.destroy();
    },
  };
}

/** The status of a complete answer; undefined while some of it is missing. Every subject gives the length. */
export function statusOf(answer: string): number | undefined {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, headEnd))?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${answer.slice(0, headEnd)}`);
  return answer.length < headEnd + 4 + Number(length) ? undefined : Number(answer.slice(9, 12));
}
