/** A request to `/h/…`, before it has a number in its endpoint's sequence. */
export interface CapturedRequest {
  /** UUIDv7; its time is the time of arrival. */
  id: string;
  endpointId: string;
  userId: string;
  method: string;
  /** Path and query as sent (the request-target of RFC 9112, origin form). */
  target: string;
  /** Names and values in turn, as received: `[name, value, name, value, …]`. */
  rawHeaders: string[];
  ip: string;
  /** The bytes as sent, neither decoded nor decompressed. */
  body: Buffer;
}

/** A captured request with its number in its endpoint's sequence. `body` may be a prefix of the `size` bytes. */
export interface StoredRequest extends Omit<CapturedRequest, 'userId'> {
  seq: number;
  size: number;
  isUtf8: boolean;
}
