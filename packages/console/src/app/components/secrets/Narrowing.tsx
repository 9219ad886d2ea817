// Chooses what a new key or token may do: everything that its owner may, or only some of it.
// It must not know what kind of secret it is.
import { type ReactElement, useId } from 'react';
import './secrets.css';

export type NarrowingTexts = { narrow: string; narrowAll: string; narrowSome: string; narrowNone: string };

type Props = {
  texts: NarrowingTexts;
  /** What the owner of the secret may do. */
  permissions: readonly string[];
  /** Null: the secret may use all of them. */
  value: readonly string[] | null;
  onChange: (value: readonly string[] | null) => void;
};

export function Narrowing({ texts, permissions, value, onChange }: Props): ReactElement {
  const id = useId();
  const toggle = (name: string, isOn: boolean): void =>
    onChange(isOn ? [...(value ?? []), name] : (value ?? []).filter((one) => one !== name));
  return (
    <fieldset className="choice">
      <legend>{texts.narrow}</legend>
      <label>
        <input type="radio" name={id} checked={value === null} onChange={() => onChange(null)} />
        {texts.narrowAll}
      </label>
      <label>
        <input type="radio" name={id} checked={value !== null} onChange={() => onChange([])} />
        {texts.narrowSome}
      </label>
      {value !== null && permissions.length === 0 && <p className="muted">{texts.narrowNone}</p>}
      {value !== null && permissions.length > 0 && (
        <div className="narrowing">
          {permissions.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={value.includes(name)}
                onChange={(event) => toggle(name, event.currentTarget.checked)}
              />
              <span className="mono">{name}</span>
            </label>
          ))}
        </div>
      )}
    </fieldset>
  );
}
