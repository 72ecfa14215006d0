import { createStore, type Store } from './store.ts';

/** Captures that arrived while nobody could see the page. */
export interface Unread {
  count: Store<number>;
  arrived(count: number): void;
}

export function countUnread(isHidden: () => boolean = () => document.hidden): Unread {
  const count = createStore(0);
  document.addEventListener('visibilitychange', () => {
    if (!isHidden()) count.set(0);
  });
  return {
    count,
    arrived(added) {
      if (isHidden()) count.update((before) => before + added);
    },
  };
}
