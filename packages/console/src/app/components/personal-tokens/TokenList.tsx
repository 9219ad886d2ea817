// Personal access tokens in a list: what each may do, until when, and when it was used. Ending one asks first.
import type { PersonalToken } from '@castellan/sdk';
import { type ReactElement, type ReactNode, useState } from 'react';
import { useWrite } from '../../data/api.ts';
import { later, t } from '../../text.ts';
import { ConfirmDialog } from '../dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../page/notify.tsx';
import { Tag } from '../text/badges.tsx';
import { Day, PlainAgo } from '../text/time.tsx';
import '../secrets/secrets.css';

type Props = {
  tokens: readonly PersonalToken[];
  /** The button that ends a token. */
  endButton: (token: PersonalToken, ask: () => void) => ReactNode;
  end: (token: PersonalToken) => Promise<unknown>;
};

export function TokenList({ tokens, endButton, end }: Props): ReactElement {
  const [asked, setAsked] = useState<PersonalToken | null>(null);
  return (
    <>
      <ul className="key-list" aria-label={later.personalTokens.title}>
        {tokens.map((token) => (
          <TokenItem key={token.id} token={token} action={endButton(token, () => setAsked(token))} />
        ))}
      </ul>
      {asked && <End token={asked} end={end} onClose={() => setAsked(null)} />}
    </>
  );
}

function TokenItem({ token, action }: { token: PersonalToken; action: ReactNode }): ReactElement {
  const texts = later.personalTokens;
  const keyTexts = t.serviceAccounts.keys;
  const { name, prefix, permissions, expires_at, last_used_at } = token;
  const isExpired = Date.parse(expires_at) <= Date.now();
  return (
    <li aria-label={texts.itemOf(name)}>
      <div className="key-head">
        <strong data-raw>{name}</strong>
        {isExpired && <Tag tone="gray">{texts.expired}</Tag>}
        {action}
      </div>
      <code className="mono key-facts">{prefix}…</code>
      <span className="key-facts">
        {permissions === null ? texts.all : texts.narrowed(permissions.length)} · {texts.expires}{' '}
        <Day at={expires_at} /> ·{' '}
        {last_used_at === null ? (
          keyTexts.unused
        ) : (
          <>
            {keyTexts.used} <PlainAgo at={last_used_at} />
          </>
        )}
      </span>
      {permissions !== null && permissions.length > 0 && (
        <span className="key-facts mono">{permissions.join(', ')}</span>
      )}
    </li>
  );
}

type EndProps = { token: PersonalToken; end: Props['end']; onClose: () => void };

function End({ token, end, onClose }: EndProps): ReactElement {
  const texts = later.personalTokens;
  const write = useWrite(
    () => end(token),
    () => {
      notifyDone(texts.ended(token.name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.ask(token.name)}
      confirmLabel={texts.end}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.askText}</p>
    </ConfirmDialog>
  );
}
