// What a form for new users holds of attributes. The controls are apart, because they load late.
// It must not send anything.
import { useState } from 'react';
import { useUserAttributes } from '../../data/attributes/attributes.ts';
import { type Texts, valuesOf } from './values.ts';

/** Returns the path of an attribute in the body of a new user. */
export const attributePath = (name: string): string => `attributes.${name}`;

export function useNewAttributes() {
  const { attributes, isRead, mayRead, read } = useUserAttributes();
  const [texts, setTexts] = useState<Texts>({});
  const [isChecked, setChecked] = useState(false);
  const { values, problems } = valuesOf(attributes, texts);
  const isFilled = (name: string): boolean => (texts[name] ?? '').trim() !== '';
  return {
    attributes,
    mayRead,
    read,
    texts,
    setTexts,
    /** To send. */
    values,
    /** What cannot be sent, once it was tried. */
    problems: isChecked ? problems : null,
    isDirty: attributes.some(({ name }) => isFilled(name)),
    /** Whether each required attribute has a text. The service judges it, and refuses what is missing. */
    isComplete:
      (isRead || !mayRead || read.isError) &&
      attributes.every(({ name, required }) => !required || isFilled(name)),
    /** Call it before sending. Returns whether all can be sent. */
    check: (): boolean => {
      setChecked(true);
      return problems.size === 0;
    },
    clear: (): void => {
      setTexts({});
      setChecked(false);
    },
  };
}

export type NewAttributesState = ReturnType<typeof useNewAttributes>;
