// One identity in a list: the provider, as whom it knows the person, since when, and what can be done.
import type { ConnectedIdentity } from '@castellan/sdk';
import type { ReactElement, ReactNode } from 'react';
import { later } from '../../text.ts';
import { Day, PlainAgo } from '../text/time.tsx';
import '../secrets/secrets.css';

export function IdentityItem({
  identity,
  action,
}: {
  identity: ConnectedIdentity;
  action: ReactNode;
}): ReactElement {
  const texts = later.identities;
  const { provider, email, display_name, subject, created_at, last_used_at } = identity;
  const names = [display_name, email].filter((one) => one !== null && one !== '');
  return (
    <li aria-label={provider.name}>
      <div className="key-head">
        <strong data-raw>{provider.name}</strong>
        {action}
      </div>
      <span className="key-facts" data-raw>
        {names.length > 0 ? names.join(' · ') : texts.at(subject)}
      </span>
      <span className="key-facts">
        {texts.connected} <Day at={created_at} />
        {last_used_at !== null && (
          <>
            {' '}
            · {texts.lastUsed} <PlainAgo at={last_used_at} />
          </>
        )}
      </span>
    </li>
  );
}
