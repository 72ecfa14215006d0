/** The paths that the page's HTML names: scripts, styles, and the modules of its import map. */
export function addressesIn(html: string): string[] {
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address as string);
  const map = /<script type="importmap"[^>]*>(.*?)<\/script>/.exec(html)?.[1] ?? '{"imports":{}}';
  const { imports } = JSON.parse(map) as { imports: Record<string, string> };
  return [...named, ...Object.values(imports)].map((address) => address.replace(/^\./, ''));
}
