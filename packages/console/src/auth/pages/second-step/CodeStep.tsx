// Confirms a sign-in with a code of an authenticator app, or with a recovery code.
import { CastellanError } from '@castellan/sdk';
import { type InputHTMLAttributes, type ReactElement, useEffect, useRef, useState } from 'react';
import { later } from '../../later-text.ts';
import { Field, Form, STATUS_ID } from '../../parts.tsx';
import type { Proof } from '../../sign-in/calls.ts';
import { appCodeIn } from '../../sign-in/code.ts';
import { codeNotice } from '../../sign-in/notices.ts';
import { type Step, StepFrame, TrustBox, useProof } from './step.tsx';

type CodeMethod = 'totp' | 'recovery_code';

const attributes: Readonly<Record<CodeMethod, InputHTMLAttributes<HTMLInputElement>>> = {
  totp: { name: 'totp', inputMode: 'numeric', autoComplete: 'one-time-code' },
  recovery_code: { name: 'recovery_code', autoComplete: 'off', autoCapitalize: 'characters', maxLength: 64 },
};

/** Throws if the text can be no code of an app, so that no try is lost. */
function proofOf(method: CodeMethod, text: string): Proof {
  if (method === 'recovery_code') return { recovery_code: text };
  const totp = appCodeIn(text);
  if (totp === null) throw new CastellanError('malformed_code', later.secondStep.malformed);
  return { totp };
}

export function CodeStep(step: Step & { method: CodeMethod }): ReactElement {
  const { method } = step;
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const work = useProof(step, () => proofOf(method, text));
  const isApp = method === 'totp';
  useEffect(() => {
    if (!work.error) return;
    field.current?.focus();
    field.current?.select();
  }, [work.error]);
  return (
    <StepFrame step={step} notice={codeNotice(work.error)}>
      <p>{isApp ? later.secondStep.totp : later.secondStep.recoveryCode}</p>
      <Form work={work} submit={later.secondStep.submit}>
        <Field
          label={isApp ? later.secondStep.code : later.secondStep.methods.recovery_code}
          {...attributes[method]}
          className="code"
          spellCheck={false}
          required
          input={field}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          aria-invalid={work.error ? true : undefined}
          aria-describedby={work.error ? STATUS_ID : undefined}
        />
        <TrustBox {...step} />
      </Form>
    </StepFrame>
  );
}
