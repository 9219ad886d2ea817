// The factors of a user, with the kind, the name, and when each was added and last used.
import type { Passkey, UserFactors } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { PasskeyName, Uses } from '../../../components/second-factors/facts.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { later } from '../../../text.ts';

type Props = Pick<UserFactors, 'totp' | 'passkeys'> & { codes: UserFactors['recovery_codes'] };

export function FactorList({ totp, passkeys, codes }: Props): ReactElement {
  const texts = later.secondFactors;
  return (
    <ul className="factor-list">
      {passkeys.map((passkey) => (
        <PasskeyRow key={passkey.id} passkey={passkey} />
      ))}
      {totp && (
        <li>
          <div className="factor-name">
            <span>
              <strong>{texts.app.title}</strong>{' '}
              {totp.suspended && <Tag tone="warn">{texts.app.suspended}</Tag>}
            </span>
            <Uses added={totp.created_at} used={totp.last_used_at} />
            {totp.suspended && <p className="muted">{later.userSecurity.suspended}</p>}
          </div>
        </li>
      )}
      {codes && (
        <li>
          <div className="factor-name">
            <strong>{texts.codes.title}</strong>
            <span className="factor-facts">{texts.codes.left(codes.left)}</span>
          </div>
        </li>
      )}
    </ul>
  );
}

const PasskeyRow = ({ passkey }: { passkey: Passkey }): ReactElement => (
  <li>
    <div className="factor-name">
      <PasskeyName of={passkey} />
      <span className="factor-facts">{later.userSecurity.kinds[passkey.kind]}</span>
      <Uses added={passkey.created_at} used={passkey.last_used_at} />
    </div>
  </li>
);
