import { createConnection, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbstractConnector, SentinelConnector, type Redis, type RedisOptions } from 'ioredis';
import type { ServerAddress } from '../environment.ts';
import { tlsOptions } from './node-options.ts';

/*
 * ioredis' own connectors listen to the first error of a socket alone. A TLS socket may have two (a certificate that is
 * refused, then what the server says to that), and the second one would end the process. ioredis also gives a connection
 * up when its connector fails, as it does when it is closed to be opened again; a closed socket has it try again.
 */

const DISCONNECT_MS = 2_000;
const RETRY_MS = 100;

export type ConnectorConstructor = NonNullable<RedisOptions['Connector']>;

type Emit = (type: string, error: Error) => void;

/** Connects to what `find` finds each time; repeats that until it succeeds. */
export function connectorTo(find: () => Promise<ServerAddress>, isTls: boolean) {
  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS);
    }

    async connect(emit: Emit) {
      this.connecting = true;
      const address = await this.find(emit);
      this.stream = address === undefined ? closed() : open(address, isTls);
      this.stream.on('error', (error) => (this.firstError ??= error));
      return this.stream;
    }

    async find(emit: Emit): Promise<ServerAddress | undefined> {
      while (this.connecting) {
        try {
          const address = await find();
          if (this.connecting) return address;
        } catch (error) {
          emit('error', error as Error);
          await sleep(RETRY_MS, undefined, { ref: false });
        }
      }
      return undefined;
    }
  };
}

/** For connections over TLS to the host in their options. */
export class TlsConnector extends AbstractConnector {
  readonly address: ServerAddress;

  constructor({ host = '127.0.0.1', port = 6379 }: RedisOptions) {
    super(DISCONNECT_MS);
    this.address = { host, port };
  }

  connect() {
    this.connecting = true;
    this.stream = open(this.address, true);
    this.stream.on('error', (error) => (this.firstError ??= error));
    return Promise.resolve(this.stream);
  }
}

/** Private in ioredis' types: opens a connection to a Sentinel. */
interface AsksSentinels {
  connectToSentinel(server: Partial<ServerAddress>, options?: RedisOptions): Redis;
}

/** For connections to the master that Sentinels name. Its error is why the last Sentinel could not say. */
export class MasterConnector extends SentinelConnector {
  private reason: Error | undefined;

  constructor(options: RedisOptions) {
    super(options);
    const asking = this as unknown as AsksSentinels;
    const connectToSentinel = asking.connectToSentinel.bind(this);
    asking.connectToSentinel = (server, more) => {
      const overTls = options.sentinelTLS && { Connector: TlsConnector as ConnectorConstructor };
      const client = connectToSentinel(server, { ...more, ...overTls });
      return client.on('error', (error: Error) => (this.reason = error));
    };
  }

  override async connect(emit: Emit) {
    this.reason = undefined;
    this.stream = await super.connect((type, error) => this.explain(emit, type, error)).catch(closed);
    this.stream.on('error', () => {});
    return this.stream;
  }

  /** ioredis tells "Connection is closed" of a refused certificate, and "unreachable" of a name that is unknown. */
  private explain(emit: Emit, type: string, error: Error): void {
    if (type === 'sentinelError') this.reason ??= error;
    emit(type, type === 'error' ? (this.reason ?? error) : error);
    if (type === 'error') this.reason = undefined;
  }
}

function open({ host, port }: ServerAddress, isTls: boolean) {
  const { tls } = tlsOptions({ tls: isTls, host });
  return tls ? connectTls({ host, port, ...tls }) : createConnection({ host, port });
}

function closed(): Socket {
  return new Socket().destroy();
}
