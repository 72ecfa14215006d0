/** Long after the browser has begun to read it. */
const KEPT_MS = 60_000;

/** Hands bytes to the browser as a file. Its name is ours: a sender's name could pretend to be anything. */
export function saveFile(bytes: BlobPart, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
