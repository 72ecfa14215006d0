/** The history of the tab, as far as the page writes it. */
export interface Visited {
  push(address: string): void;
  /** Changes the newest entry: at once, or soon after the change before. */
  replace(address: string): void;
  /** The address was changed by someone else. */
  drop(): void;
}

/** Safari refuses more than 100 changes in 30 seconds; a key that is held down makes 30 a second. */
const REPLACE_MS = 350;

export function openVisited(): Visited {
  let wanted: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function write(): void {
    timer = undefined;
    if (wanted === undefined) return;
    history.replaceState(null, '', wanted);
    wanted = undefined;
    timer = setTimeout(write, REPLACE_MS);
  }

  function drop(): void {
    clearTimeout(timer);
    timer = undefined;
    wanted = undefined;
  }

  return {
    drop,
    push(address) {
      clearTimeout(timer);
      write();
      history.pushState(null, '', address);
    },
    replace(address) {
      wanted = address;
      if (timer === undefined) write();
    },
  };
}
