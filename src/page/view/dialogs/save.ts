/** Hands a file to the browser. Its name is ours: no sender chooses what lies in someone's downloads. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun with the click; the bytes may go when it has read them.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
