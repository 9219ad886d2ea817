// A proof by the code of an app, or by a recovery code.
import { type ReactElement, useState } from 'react';
import { CodeField, type CodeKind, isComplete } from '../../components/forms/CodeField.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { later } from '../../text.ts';
import { type Proving, useProof } from './proving.ts';

type Props = { kind: CodeKind; proving: Proving };

export function ByCode({ kind, proving }: Props): ReactElement {
  const texts = later.secondFactors.stepUp;
  const [code, setCode] = useState('');
  const [isShort, setShort] = useState(false);
  const { run, isPending, error } = useProof(proving);
  const send = (): void => {
    setShort(!isComplete(kind, code));
    if (isComplete(kind, code)) run(kind === 'totp' ? { totp: code } : { recovery_code: code });
  };
  return (
    <Form
      onSubmit={send}
      isPending={isPending}
      error={error}
      fields={['code', kind]}
      submitLabel={texts.confirm}
      onCancel={proving.onCancel}
      isDisabled={code === ''}
    >
      <CodeField
        kind={kind}
        isFirst
        value={code}
        error={isShort ? texts.sixDigits : (fieldError(error, 'code') ?? fieldError(error, kind))}
        onChange={(value) => {
          setCode(value);
          setShort(false);
        }}
      />
    </Form>
  );
}
