import { h, type ComponentChild } from 'preact';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { misses } from '../../state/filtering.ts';
import type { Open } from '../../state/opening.ts';
import { useStore } from '../context.ts';
import { SearchButton } from './list-status.ts';
import { noneInWords } from './words.ts';

/** Why the list has no rows, and what to do. */
export function Empty({ open }: { open: Open }): ComponentChild {
  const { shown, search, feed } = open;
  const { paused, held, filtering } = useStore(shown.state);
  const { running, filter } = useStore(search.state);
  const { list } = useStore(feed.state);
  const say = (text: string, ...actions: ComponentChild[]): ComponentChild =>
    el('div', { class: 'empty' }, el('p', null, text), el('div', { class: 'empty-actions' }, actions));
  if (list === 'loading' || filtering) return say('Loading …');
  if (paused && held > 0)
    return say(
      `Paused: ${formatCount(held)} new ${held === 1 ? 'request matches' : 'requests match'}`,
      el('button', { onClick: () => shown.pause(false) }, 'Resume'),
    );
  if (running) return say('Nothing found yet. Searching …');
  if (filter === undefined && misses(open))
    return say(noneInWords(feed.book.entries.length), h(SearchButton, { open }));
  return say(filter === undefined || !search.state.get().more ? 'No request matches' : 'Nothing found yet');
}
