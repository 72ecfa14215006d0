/** Arrow keys in a text that folds: up and down to the next fold, left folds, right unfolds. */
export function moveInFolds(event: KeyboardEvent): void {
  const { target, currentTarget, key } = event;
  if (!(target instanceof HTMLElement) || !(currentTarget instanceof HTMLElement)) return;
  if (!target.matches('.fold') || event.ctrlKey || event.altKey || event.metaKey) return;
  const folds = [...currentTarget.querySelectorAll<HTMLElement>('.fold')];
  const isOpen = target.getAttribute('aria-expanded') === 'true';
  const at = folds.indexOf(target);
  switch (key) {
    case 'ArrowUp':
      folds[at - 1]?.focus();
      break;
    case 'ArrowDown':
      folds[at + 1]?.focus();
      break;
    case 'ArrowLeft':
      if (isOpen) target.click();
      break;
    case 'ArrowRight':
      if (!isOpen) target.click();
      break;
    default:
      return;
  }
  // Otherwise the panel would scroll, or the list would move.
  event.preventDefault();
  event.stopPropagation();
}
