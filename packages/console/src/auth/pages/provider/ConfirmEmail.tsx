// Confirms the address of an identity with a code from a mail, typed into the browser that began. The page says the same
// whether or not an account has the address.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { EmailField, Field, Form, Frame, type NoticeContent, noticeOf, STATUS_ID } from '../../parts.tsx';
import { confirmCode, mailCode } from '../../provider/calls.ts';
import { via } from '../../provider/text.ts';
import { mailCodeIn } from '../../sign-in/code.ts';
import { useCountdown } from '../../work.ts';
import { replace, useWaitingWork, type WaitingProps, Withdraw } from './waiting.tsx';

/** The time before a mail can be requested again. */
const RESEND_MS = 60_000;

export function ConfirmEmail(props: WaitingProps): ReactElement {
  const { provider } = props.pending;
  const [email, setEmail] = useState(props.pending.email ?? '');
  const [isSent, setSent] = useState(false);
  const send = useWaitingWork(props, async () => {
    await mailCode(email);
    setSent(true);
  });
  if (isSent) return <EnterCode {...props} email={email} onOther={() => setSent(false)} />;
  return (
    <Frame title={via.email.title} notice={noticeOf(send.error)} step="email">
      <p data-raw>{via.email.text(provider.name)}</p>
      <Form work={send} submit={via.email.submit}>
        <EmailField value={email} onChange={setEmail} error={send.error} />
      </Form>
      <Withdraw text={via.cancel} />
    </Frame>
  );
}

function EnterCode({
  email,
  onOther,
  ...props
}: WaitingProps & { email: string; onOther: () => void }): ReactElement {
  const texts = via.email;
  const [text, setText] = useState('');
  const [until, setUntil] = useState(() => Date.now() + RESEND_MS);
  const field = useRef<HTMLInputElement>(null);
  const left = useCountdown(until);
  const confirm = useWaitingWork(props, async () => {
    const code = mailCodeIn(text);
    if (code === null) throw new CastellanError('malformed_code', texts.malformed);
    await replace(await confirmCode(code));
  });
  const resend = useWaitingWork(props, async () => {
    confirm.clear();
    await mailCode(email);
    setUntil(Date.now() + RESEND_MS);
  });
  useEffect(() => {
    if (!confirm.error) return;
    field.current?.focus();
    field.current?.select();
  }, [confirm.error]);
  const refusal = noticeOf(confirm.error);
  const notice: NoticeContent = refusal
    ? { ...refusal, isQuiet: true }
    : (noticeOf(resend.error) ?? { kind: 'good', text: texts.sent });
  return (
    <Frame title={texts.title} notice={notice} step="code">
      <p className="muted" data-raw>
        {email}
      </p>
      <Form work={confirm} submit={texts.confirm}>
        <Field
          label={texts.code}
          name="code"
          className="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          spellCheck={false}
          required
          input={field}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          aria-invalid={confirm.error ? true : undefined}
          aria-describedby={confirm.error ? STATUS_ID : undefined}
        />
      </Form>
      <Form
        work={{ ...resend, wait: Math.max(resend.wait, left) }}
        submit={texts.resend}
        waiting={texts.resendIn}
        isSecondary
      />
      <button type="button" className="link" onClick={onOther}>
        {texts.other}
      </button>
      <Withdraw text={via.cancel} />
    </Frame>
  );
}
