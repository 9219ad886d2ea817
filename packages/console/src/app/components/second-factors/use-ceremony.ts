// Ends what a browser asks for, or is about to ask for, with the dialog that began it.
import { useEffect, useRef } from 'react';
import { cancelCeremony } from '../../data/second-factors/ceremony.ts';

/** Returns a function that returns the signal of the dialog: it aborts when the dialog goes away. */
export function useCeremony(): () => AbortSignal {
  const controller = useRef(new AbortController());
  useEffect(() => {
    const own = new AbortController();
    controller.current = own;
    return () => {
      own.abort();
      void cancelCeremony();
    };
  }, []);
  return () => controller.current.signal;
}
