// The ways to prove again who is signed in. Nothing starts by itself: the person presses a button.
import { CastellanError, type PasskeyRequestOptions, type StepUp } from '@castellan/sdk';
import { type ReactElement, type ReactNode, useEffect, useRef, useState } from 'react';
import { useAnswer } from '../../../interaction/answering.ts';
import { proveAgain } from '../../../interaction/calls.ts';
import { later } from '../../../later-text.ts';
import { Field, Form, type NoticeContent, noticeOf, PasswordField, STATUS_ID } from '../../../parts.tsx';
import { appCodeIn } from '../../../sign-in/code.ts';
import { codeNotice, passkeyNotice } from '../../../sign-in/notices.ts';
import { reportUnknown } from '../../../sign-in/passkeys.ts';
import { canUsePasskeys } from '../../../sign-in/waiting.ts';
import { t } from '../../../text.ts';
import type { StepProps } from '../parts.tsx';

type WayProps = StepProps & { frame: (notice: NoticeContent | null, children: ReactNode) => ReactElement };

export function PasswordProof({ id, interaction, onEnd, frame }: WayProps): ReactElement {
  const [password, setPassword] = useState('');
  const work = useAnswer(() => proveAgain(id, { password }), onEnd);
  return frame(
    noticeOf(work.error),
    <Form work={work} submit={later.secondStep.submit}>
      <input
        className="visually-hidden"
        type="email"
        autoComplete="username"
        readOnly
        tabIndex={-1}
        aria-hidden="true"
        value={interaction.account?.email ?? ''}
      />
      <PasswordField
        label={t.password}
        value={password}
        onChange={setPassword}
        autoComplete="current-password"
      />
    </Form>,
  );
}

/** Throws if the text can be no code of an app, so that no try is lost. */
function proofOf(way: 'totp' | 'recovery_code', text: string): StepUp {
  if (way === 'recovery_code') return { recovery_code: text };
  const totp = appCodeIn(text);
  if (totp === null) throw new CastellanError('malformed_code', later.secondStep.malformed);
  return { totp };
}

export function CodeProof({
  id,
  onEnd,
  frame,
  way,
}: WayProps & { way: 'totp' | 'recovery_code' }): ReactElement {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const work = useAnswer(async () => proveAgain(id, proofOf(way, text)), onEnd);
  const isApp = way === 'totp';
  useEffect(() => {
    if (!work.error) return;
    field.current?.focus();
    field.current?.select();
  }, [work.error]);
  return frame(
    codeNotice(work.error),
    <>
      <p>{isApp ? later.secondStep.totp : later.secondStep.recoveryCode}</p>
      <Form work={work} submit={later.secondStep.submit}>
        <Field
          label={isApp ? later.secondStep.code : later.secondStep.methods.recovery_code}
          name={way}
          inputMode={isApp ? 'numeric' : 'text'}
          autoComplete={isApp ? 'one-time-code' : 'off'}
          className="code"
          spellCheck={false}
          required
          maxLength={64}
          input={field}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          aria-invalid={work.error ? true : undefined}
          aria-describedby={work.error ? STATUS_ID : undefined}
        />
      </Form>
    </>,
  );
}

const loadCeremony = () => import('../../../sign-in/ceremony.ts');
/** Ends the request that waits, if one does. */
const stop = (): void => void loadCeremony().then(({ endRequest }) => endRequest());

type PasskeyProps = WayProps & {
  options: PasskeyRequestOptions | undefined;
  /** Asks for another challenge: a refused one does not count again. */
  onAgain: () => void;
};

export function PasskeyProof({ id, onEnd, frame, options, onAgain }: PasskeyProps): ReactElement {
  const work = useAnswer(async () => {
    if (!options) throw new CastellanError('no_passkey', later.secondStep.noPasskey);
    const passkey = await (await loadCeremony()).askForPasskey(options);
    try {
      return await proveAgain(id, { passkey });
    } catch (error) {
      await reportUnknown(error, options, passkey);
      onAgain();
      throw error;
    }
  }, onEnd);
  useEffect(() => {
    // The button must not wait for the library: some browsers ask for a click a moment ago.
    loadCeremony().catch(() => {});
    return stop;
  }, []);
  if (!canUsePasskeys() || !options) return frame(null, <p>{later.secondStep.noPasskey}</p>);
  const notice = passkeyNotice(work.error, {
    failed: later.secondStep.failed,
    unknown: later.secondStep.unknownPasskey,
  });
  return frame(
    notice,
    <>
      <p>{later.secondStep.passkey}</p>
      <Form work={work} submit={later.secondStep.usePasskey} working={later.passkey.waiting} />
      {work.isPending && (
        <button type="button" className="link" onClick={stop}>
          {later.passkey.cancel}
        </button>
      )}
    </>,
  );
}
