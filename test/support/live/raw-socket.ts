import { connect, type Socket } from 'node:net';
import { closing, eventually } from '../environment.ts';

/** A WebSocket that a test controls completely: it answers neither a ping nor a close. */
export interface RawLive {
  socket: Socket;
  /** What the server sent: the texts of its messages, and the code of its close. */
  messages: string[];
  closeCode(): number | undefined;
  /** Whether the server closed the TCP connection. */
  isGone(): boolean;
  send(text: string): void;
  /** A frame of any kind; 1 is text, 9 a ping. */
  frame(opcode: number, payload: Buffer): Buffer;
}

/** Connects to `/socket.io/` and resolves with the first message of the server. */
export async function connectRaw(url: string, query = ''): Promise<RawLive> {
  const { port } = new URL(url);
  // Stays open when the server closes its half.
  const socket = closing(
    connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }),
    (open) => void open.destroy(),
  );
  let buffered: Buffer = Buffer.alloc(0);
  let head: string | undefined;
  let closeCode: number | undefined;
  let gone = false;
  const messages: string[] = [];
  socket.on('error', () => (gone = true));
  socket.on('end', () => (gone = true));
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk as Buffer]);
    const end = head === undefined ? buffered.indexOf('\r\n\r\n') : -1;
    if (end >= 0) {
      head = buffered.toString('latin1', 0, end);
      buffered = buffered.subarray(end + 4);
    }
    for (
      let next = head === undefined ? undefined : takeFrame(buffered);
      next !== undefined;
      next = takeFrame(buffered)
    ) {
      buffered = next.rest;
      if (next.opcode === 1) messages.push(next.payload.toString('utf8'));
      if (next.opcode === 8) closeCode = next.payload.length < 2 ? 1005 : next.payload.readUInt16BE(0);
    }
  });
  socket.write(
    `GET /socket.io/?EIO=4&transport=websocket${query} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await eventually(() => messages.length > 0 || gone || (head !== undefined && !head.startsWith('HTTP/1.1 101')));
  return {
    socket,
    messages,
    closeCode: () => closeCode,
    isGone: () => gone,
    send: (text) => void socket.write(frame(1, Buffer.from(text))),
    frame,
  };
}

/** The same after the handshake. */
export async function connectRawAs(url: string, token: string): Promise<RawLive> {
  const live = await connectRaw(url);
  live.send(`40${JSON.stringify({ token })}`);
  await eventually(() => live.messages.some((text) => text.startsWith('40')));
  return live;
}

/** Masked with zeroes, because a client's frames have to be masked. */
function frame(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([Buffer.from([0x80 | opcode]), length, Buffer.alloc(4), payload]);
}

function takeFrame(bytes: Buffer): { opcode: number; payload: Buffer; rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] as number) & 127;
  const start = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < start) return undefined;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < start + length) return undefined;
  return {
    opcode: (bytes[0] as number) & 15,
    payload: bytes.subarray(start, start + length),
    rest: bytes.subarray(start + length),
  };
}
