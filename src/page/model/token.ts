/** What people paste where a token is wanted: the token, a header, a line of a shell, or the link that signs in. */
export function tokenFrom(pasted: string): string | undefined {
  const text = pasted.trim().replaceAll(/^["']|["']$/g, '');
  const token = /(?:#token=|\bTOKEN=|\bBearer\s+)["']?([^\s"'&]+)/i.exec(text)?.[1] ?? text.replaceAll(/\s+/g, '');
  return token === '' ? undefined : token;
}
