import type { Router } from '@koa/router';

/**
 * The address of share links where there is no inspector page. The token is behind `#`, which browsers do not send: the
 * answer is the same for all, and plain text, so nothing on it can read the token.
 */
export function sharePage(router: Router, baseUrl: string): void {
  const text = `This is the address of a Hookbay share link: somebody lets you read captured webhooks.

The part behind # is the token. Your browser has not sent it to this server; copy it:

  TOKEN=hbs_...

What the link opens: one endpoint, or one of its entries where request_id is not null

  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/share

The entries of the endpoint, newest first

  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/endpoints/<endpoint_id>/requests

One entry, and its body to the byte

  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/requests/<request_id>
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/api/requests/<request_id>/body
`;
  router.get('/s', (ctx) => {
    ctx.set({
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    });
    ctx.type = 'text/plain; charset=utf-8';
    ctx.body = text;
  });
}
