/** A webhook as GitHub sends it; only its path and its delivery id change from one to the next. */
export interface Message {
  /** The whole request. It is written over by the next call of `address`. */
  bytes: Buffer;
  address(path: string): void;
}

const COMMIT = {
  id: '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d',
  message: 'Update README.md',
  timestamp: '2026-11-22T10:04:22Z',
  author: { name: 'The Octocat', email: 'octocat@example.com', username: 'octocat' },
  modified: ['README.md', 'src/main.ts'],
};

/** A JSON body of this size (at least 50 bytes), with about as many quotes as a push event has. */
export function jsonBody(bytes: number): Buffer {
  const commit = JSON.stringify(COMMIT);
  const frame = (commits: string[], padding: number): string =>
    `{"ref":"refs/heads/main","commits":[${commits.join(',')}],"padding":"${'x'.repeat(padding)}"}`;
  const room = Math.max(0, bytes - frame([], 0).length);
  const commits = Array<string>(Math.floor(room / (commit.length + 1))).fill(commit);
  return Buffer.from(frame(commits, Math.max(0, bytes - frame(commits, 0).length)));
}

/** All paths have the length of `samplePath`. */
export function createMessage(samplePath: string, body: Buffer, close: boolean): Message {
  const delivery = '72d3162e-cc78-11e3-81ab-000000000000';
  const head = [
    `POST ${samplePath} HTTP/1.1`,
    'Host: hooks.example.com',
    'User-Agent: GitHub-Hookshot/044aadd',
    `Content-Length: ${body.length}`,
    'Accept: */*',
    'Content-Type: application/json',
    `X-GitHub-Delivery: ${delivery}`,
    'X-GitHub-Event: push',
    'X-GitHub-Hook-ID: 292430182',
    'X-GitHub-Hook-Installation-Target-ID: 79929171',
    'X-GitHub-Hook-Installation-Target-Type: repository',
    'X-Hub-Signature: sha1=7d38cdd689735b008b3c702edd92eea23791c5f6',
    'X-Hub-Signature-256: sha256=d57c68ca6f92289e6987922ff26938930f6e66a2d161ef06abdf1859230aa23c',
    ...(close ? ['Connection: close'] : []),
    '\r\n',
  ].join('\r\n');
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body]);
  const pathAt = 'POST '.length;
  const deliveryAt = head.indexOf(delivery) + delivery.length - 12;
  let sent = 0;
  return {
    bytes,
    address(path) {
      sent += 1;
      bytes.write(path, pathAt, 'latin1');
      bytes.write(sent.toString(16).padStart(12, '0'), deliveryAt, 'latin1');
    },
  };
}
