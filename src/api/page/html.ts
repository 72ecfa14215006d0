import type { PageFiles } from './files.ts';

/** What the page has to know of the server before it asks it anything. */
export interface PageSettings {
  captureBaseUrl: string;
  /** Whether the page's own origin captures too. */
  capturesHere: boolean;
  live: boolean;
  customResponses: string;
}

/** Complete but for the nonce, which is another one in every answer. */
export function pageTemplate(files: PageFiles, settings: PageSettings): (nonce: string) => string {
  // Relative, so that a proxy may serve all this below a path.
  const address = (path: string): string => `./page/${files.hash}/${path}`;
  const imports = Object.entries(files.imports).map(([name, path]) => [name, address(path)]);
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) }).replaceAll('<', String.raw`\u003c`);
  const metas = {
    'hookbay:capture-base': settings.captureBaseUrl,
    'hookbay:captures-here': String(settings.capturesHere),
    'hookbay:live': String(settings.live),
    'hookbay:custom-responses': settings.customResponses,
  };
  const [entry = '', ...others] = files.modules.map((path) => escapeText(address(path)));
  // Behind the first answers of the API, for which the modules before them ask.
  const later = files.awaited.map((path) => `${escapeText(address(path))}" fetchpriority="low`);
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    ...Object.entries(metas).map(([name, content]) => `<meta name="${name}" content="${escapeText(content)}">`),
    '<title>Hookbay</title>',
    `<link rel="stylesheet" href="${escapeText(address(files.style))}">`,
  ].join('\n');
  return (nonce) => `<!doctype html>
<html lang="en">
<head>
${head}
<script type="importmap" nonce="${nonce}">${importMap}</script>
<script type="module" nonce="${nonce}" src="${entry}"></script>
${[...others, ...later].map((href) => `<link rel="modulepreload" nonce="${nonce}" href="${href}">`).join('\n')}
</head>
<body>
<noscript>This page needs JavaScript. The API works without it: see openapi.json.</noscript>
</body>
</html>
`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
