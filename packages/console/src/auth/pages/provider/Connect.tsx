// Connects an identity to the account that has its address: after a sign-in to that account, and a question.
import { type ReactElement, useEffect, useState } from 'react';
import { client, isCode, mayHaveSession } from '../../client.ts';
import { Form, Frame, type NoticeContent, noticeOf } from '../../parts.tsx';
import { onward, signInAndBack } from '../../provider/address.ts';
import { connectPending, signedInAs } from '../../provider/calls.ts';
import { via } from '../../provider/text.ts';
import { t } from '../../text.ts';
import { useWork } from '../../work.ts';
import { replace, useWaitingWork, type WaitingProps, Withdraw } from './waiting.tsx';

export function Connect(props: WaitingProps): ReactElement {
  // Undefined until it is known.
  const [account, setAccount] = useState<string | null | undefined>(mayHaveSession() ? undefined : null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (account === undefined) signedInAs().then(setAccount, setError);
  }, [account]);
  if (account) return <Confirm {...props} account={account} />;
  const { name } = props.pending.provider;
  return (
    <Frame title={via.connect.title(name)} notice={noticeOf(error)} step="connect">
      <p>{via.connect.exists}</p>
      <From {...props} />
      {account === undefined && !error ? (
        <p className="muted">{t.working}</p>
      ) : (
        <p className="onward">
          <a className="button" href={signInAndBack()}>
            {via.connect.signIn}
          </a>
        </p>
      )}
      <Withdraw text={via.cancel} />
    </Frame>
  );
}

/** As whom the provider knows the person. */
const From = ({ pending: { provider, email } }: WaitingProps): ReactElement | null =>
  email === null ? null : (
    <p className="muted">
      <span data-raw>{via.connect.from(provider.name)}</span> <b data-raw>{email}</b>
    </p>
  );

function Confirm({ account, ...props }: WaitingProps & { account: string }): ReactElement {
  const texts = via.connect;
  const { name } = props.pending.provider;
  const connect = useWaitingWork(props, async () => {
    await connectPending();
    await replace(onward());
  });
  const other = useWork(async () => {
    await client.auth.signOut();
    await replace(signInAndBack());
  });
  const isOld = isCode(connect.error, 'step_up_required');
  return (
    <Frame
      title={texts.title(name)}
      notice={noticeOf(other.error) ?? refusalOf(connect.error, name)}
      step="confirm"
    >
      <From {...props} />
      <p className="muted">
        {texts.account} <b data-raw>{account}</b>
      </p>
      <p data-raw>{texts.confirm(name)}</p>
      {isOld ? (
        <p className="onward">
          <a className="button" href={signInAndBack()}>
            {texts.signInAgain}
          </a>
        </p>
      ) : (
        <Form work={connect} submit={texts.submit} />
      )}
      <button type="button" className="link" onClick={() => other.start()}>
        {other.isPending ? t.working : texts.other}
      </button>
      <Withdraw text={via.cancel} />
    </Frame>
  );
}

function refusalOf(error: unknown, provider: string): NoticeContent | null {
  if (isCode(error, 'step_up_required')) return { kind: 'error', text: via.connect.again };
  if (isCode(error, 'identity_taken')) return { kind: 'error', text: via.connect.taken(provider) };
  return noticeOf(error);
}
