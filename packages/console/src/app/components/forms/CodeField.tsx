// The input of a code: of an authenticator app, or a recovery code. Blanks in what is pasted do not count.
import { TextInput } from '@mantine/core';
import { type ReactElement, useEffect, useRef } from 'react';
import { later } from '../../text.ts';

export type CodeKind = 'totp' | 'recovery_code';

type Props = {
  kind: CodeKind;
  value: string;
  error: string | null;
  onChange: (value: string) => void;
  label?: string;
  /** Takes the focus when it appears. */
  isFirst?: boolean;
};

/** Whether it can be sent: the service counts no try of anything else. */
export const isComplete = (kind: CodeKind, code: string): boolean =>
  kind === 'totp' ? /^\d{6}$/.test(code) : code.trim() !== '';

export function CodeField({ kind, value, error, onChange, label, isFirst = false }: Props): ReactElement {
  const texts = later.secondFactors.stepUp;
  const input = useRef<HTMLInputElement>(null);
  const isApp = kind === 'totp';
  useEffect(() => {
    if (isFirst) input.current?.focus();
  }, [isFirst]);
  // The next code replaces the wrong one.
  useEffect(() => {
    if (error) input.current?.select();
  }, [error]);
  return (
    <TextInput
      ref={input}
      required
      className="code-field"
      data-autofocus={isFirst || undefined}
      label={label ?? (isApp ? texts.code : texts.recoveryCode)}
      description={isApp ? texts.codeHelp : texts.recoveryHelp}
      inputMode={isApp ? 'numeric' : 'text'}
      autoComplete={isApp ? 'one-time-code' : 'off'}
      autoCapitalize="characters"
      spellCheck={false}
      maxLength={40}
      value={value}
      error={error}
      onChange={(event) => onChange(event.currentTarget.value.replaceAll(/\s/g, ''))}
    />
  );
}
