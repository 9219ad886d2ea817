// What can be done on the page that is open, for the command palette.
import { useEffect, useEffectEvent } from 'react';

export type PageAction = { label: string; run: () => void };

const offers = new Set<() => readonly PageAction[]>();

/** Offers actions in the palette while the component is on screen. Give only those that the person may run now. */
export function usePageActions(actions: readonly PageAction[]): void {
  const offer = useEffectEvent(() => actions);
  useEffect(() => {
    const one = (): readonly PageAction[] => offer();
    offers.add(one);
    return () => void offers.delete(one);
  }, []);
}

/** Returns what the page and its pane offer now. */
export const pageActions = (): readonly PageAction[] => [...offers].flatMap((offer) => offer());
