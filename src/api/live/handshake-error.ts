import type { ExtendedError } from 'socket.io';

/** A handshake that is refused: the client reads the message in `connect_error`, and more in `data.error`. */
export class Refusal extends Error implements ExtendedError {
  readonly data: { error: string };

  constructor(message: 'unauthorized' | 'forbidden' | 'too many connections' | 'try again', description: string) {
    super(message);
    this.data = { error: description };
  }
}
