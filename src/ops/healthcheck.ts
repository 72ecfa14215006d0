import { get } from 'node:http';

const TIMEOUT_MS = 3_000;

/** Does not use `fetch`, which takes longer to load than the request, and refuses some ports. */
export function findProblem(internalPort: number, path: '/livez' | '/readyz'): Promise<string | undefined> {
  const url = `http://127.0.0.1:${internalPort}${path}`;
  return new Promise((resolve) => {
    const request = get(url, { timeout: TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve(
          response.statusCode === 200
            ? undefined
            : `${url} answers ${response.statusCode}: ${Buffer.concat(chunks).toString()}`,
        ),
      );
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
    request.on('error', (error: Error & { code?: string }) =>
      resolve(`${url} does not answer (${error.code ?? error.message})`),
    );
  });
}
