// Delays what follows from typing.
import { useEffect, useEffectEvent, useRef, useState } from 'react';

/** The time after the last key before a search is sent. */
const TYPING_MS = 250;

/**
 * A text that is typed into a box and kept elsewhere, such as in the address: `[text, setText, flush]`. `store` is called
 * when typing pauses. A change from elsewhere, such as "Back", replaces the text.
 */
export function useTypedText(
  stored: string,
  store: (text: string) => void,
): [string, (text: string) => void, () => void] {
  const [text, setText] = useState(stored);
  const sent = useRef(stored);
  const onPause = useEffectEvent(() => {
    if (text === sent.current) return;
    sent.current = text;
    store(text);
  });
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => onPause(), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (stored === sent.current) return;
    sent.current = stored;
    setText(stored);
  }, [stored]);
  const flush = (): void => {
    if (text === sent.current) return;
    sent.current = text;
    store(text);
  };
  return [text, setText, flush];
}
