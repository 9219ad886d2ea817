// Passkeys, or security keys: add, rename, remove.
import type { Factors, Passkey } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { PasskeyName, Uses } from '../../../../components/second-factors/facts.tsx';
import { canUsePasskeys } from '../../../../data/second-factors/ceremony.ts';
import { hasFactor } from '../../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../../text.ts';
import { Factor } from '../Factor.tsx';
import type { ShowCodes } from '../show-codes.ts';
import { AddPasskey } from './AddPasskey.tsx';
import { RemovePasskey } from './RemovePasskey.tsx';
import { RenamePasskey } from './RenamePasskey.tsx';

type Props = { kind: Passkey['kind']; factors: Factors; onCodes: ShowCodes };
type Asked = { passkey: Passkey; act: 'rename' | 'remove' };

/** Nothing where the service has none of this kind and takes none. */
export function Passkeys({ kind, factors, onCodes }: Props): ReactElement | null {
  const texts = kind === 'passkey' ? later.secondFactors.passkeys : later.secondFactors.keys;
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const all = factors.passkeys;
  const own = all.filter((passkey) => passkey.kind === kind);
  const mayAdd = factors.available[kind] && canUsePasskeys();
  if (own.length === 0 && !mayAdd) return null;
  const close = (): void => setAsked(null);
  return (
    <Factor
      title={texts.title}
      actions={
        mayAdd && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            {texts.add}
          </Button>
        )
      }
    >
      {own.length === 0 && <p className="muted">{texts.none}</p>}
      <ul className="factor-list">
        {own.map((passkey) => (
          <Row key={passkey.id} passkey={passkey} onAct={(act) => setAsked({ passkey, act })} />
        ))}
      </ul>
      {isAdding && (
        <AddPasskey
          kind={kind}
          title={texts.add}
          isFirst={!hasFactor(factors)}
          onCodes={onCodes}
          onClose={() => setAdding(false)}
        />
      )}
      {asked?.act === 'rename' && <RenamePasskey passkey={asked.passkey} onClose={close} />}
      {asked?.act === 'remove' && (
        <RemovePasskey
          passkey={asked.passkey}
          isLast={factors.totp === null && all.length === 1}
          onClose={close}
        />
      )}
    </Factor>
  );
}

function Row({ passkey, onAct }: { passkey: Passkey; onAct: (act: Asked['act']) => void }): ReactElement {
  const texts = later.secondFactors.passkeys;
  const { name, created_at, last_used_at } = passkey;
  return (
    <li>
      <div className="factor-name">
        <PasskeyName of={passkey} />
        <Uses added={created_at} used={last_used_at} />
      </div>
      <div className="factor-actions">
        <Button size="xs" variant="default" aria-label={texts.renameOf(name)} onClick={() => onAct('rename')}>
          {texts.rename}
        </Button>
        <Button size="xs" variant="default" aria-label={texts.removeOf(name)} onClick={() => onAct('remove')}>
          {t.common.actions.remove}
        </Button>
      </div>
    </li>
  );
}
