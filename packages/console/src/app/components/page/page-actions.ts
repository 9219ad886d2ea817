// What can be done on the page that is open, for the command palette.
import { useEffect, useRef } from 'react';

export type PageAction = { label: string; run: () => void };

type Offer = { current: readonly PageAction[] };

const offers = new Set<Offer>();

/** Offers actions in the palette while the component is on screen. Give only those that the person may run now. */
export function usePageActions(actions: readonly PageAction[]): void {
  const offer = useRef(actions);
  useEffect(() => {
    offer.current = actions;
  });
  useEffect(() => {
    offers.add(offer);
    return () => void offers.delete(offer);
  }, []);
}

/** Returns what the page and its pane offer now. */
export const pageActions = (): readonly PageAction[] => [...offers].flatMap(({ current }) => current);
