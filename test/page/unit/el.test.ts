import { expect, test } from 'vitest';
import { el } from '../../../src/page/el.ts';

test('the type check refuses unknown tags, attributes and events, and raw HTML', () => {
  const elements = [
    el('p', { class: 'x', onClick: () => {} }, 'text'),
    // @ts-expect-error no such tag
    el('pp', null),
    // @ts-expect-error no such event
    el('p', { onClik: () => {} }),
    // @ts-expect-error no raw HTML
    el('p', { dangerouslySetInnerHTML: { __html: '' } }),
  ];
  expect(elements).toHaveLength(4);
});
