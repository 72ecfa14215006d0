const TIMEOUT_MS = 3_000;

/** Asks a process on this machine how it is, by its internal port; returns what is wrong, if anything is. */
export async function findProblem(internalPort: number, path: '/livez' | '/readyz'): Promise<string | undefined> {
  const url = `http://127.0.0.1:${internalPort}${path}`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? undefined : `${url} answers ${response.status}: ${await response.text()}`;
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return `${url} does not answer (${cause?.code ?? message})`;
  }
}
