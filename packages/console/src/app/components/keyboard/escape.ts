// One Escape closes one layer: the topmost. Mantine's layers close themselves; ours are kept in a stack.
import { useEffect, useEffectEvent } from 'react';

const stack: (() => void)[] = [];

const openLayers =
  '[role="dialog"][aria-modal="true"], [role="menu"], .mantine-Combobox-dropdown, [data-layer]';

/** A layer that is being closed stays in the document for its animation. */
const hasOpenLayer = (): boolean =>
  [...document.querySelectorAll<HTMLElement>(openLayers)].some((one) => one.checkVisibility());

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'Escape' || event.isComposing || hasOpenLayer()) return;
  const close = stack.at(-1);
  if (!close) return;
  event.stopPropagation();
  close();
}

/** While `isOpen`, Escape calls `close`, unless a layer above is open. */
export function useEscape(isOpen: boolean, close: () => void): void {
  const onClose = useEffectEvent(close);
  useEffect(() => {
    if (!isOpen) return;
    const entry = (): void => onClose();
    if (stack.length === 0) window.addEventListener('keydown', onKey, { capture: true });
    stack.push(entry);
    return () => {
      stack.splice(stack.indexOf(entry), 1);
      if (stack.length === 0) window.removeEventListener('keydown', onKey, { capture: true });
    };
  }, [isOpen]);
}
