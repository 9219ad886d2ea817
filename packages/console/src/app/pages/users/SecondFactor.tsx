// The second factors of a user in a row of the list: what they have, and whether something that is required is missing.
import type { ListedUser } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { Tag } from '../../components/text/badges.tsx';
import { t } from '../../text.ts';

type Props = { of: ListedUser['second_factor'] };

export function SecondFactor({ of: state }: Props): ReactElement | null {
  if (!state) return null;
  const texts = t.users.secondFactor;
  const isReset = state.methods.includes('recovery_link');
  const shown = state.methods.filter((method) => method === 'passkey' || method === 'totp');
  return (
    <span className="chips">
      {shown.length > 0 && <span>{shown.map((method) => texts.methods[method]).join(', ')}</span>}
      {shown.length === 0 && state.on && <span>{texts.methods.recovery_code}</span>}
      {isReset && <Tag tone="accent">{texts.reset}</Tag>}
      {!state.met && <Tag tone="warn">{texts.missing}</Tag>}
      {!state.on && state.met && !isReset && (
        <span className="muted">
          <span aria-hidden>–</span>
          <span className="visually-hidden">{texts.none}</span>
        </span>
      )}
    </span>
  );
}
