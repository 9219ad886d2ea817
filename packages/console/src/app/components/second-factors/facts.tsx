// What is told about a factor, to its owner and to administrators.
import type { Passkey } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { later } from '../../text.ts';
import { Tag } from '../text/badges.tsx';
import { PlainAgo } from '../text/time.tsx';
import './facts.css';

type Told = Pick<Passkey, 'name' | 'kind' | 'usable' | 'rp_id' | 'backed_up'>;

/** The name of a passkey or security key, and what is particular about it. */
export function PasskeyName({ of: { name, kind, usable, rp_id, backed_up } }: { of: Told }): ReactElement {
  const texts = later.secondFactors.passkeys;
  return (
    <span>
      <strong data-raw>{name}</strong>{' '}
      {kind === 'passkey' && <Tag>{backed_up ? texts.synced : texts.thisDevice}</Tag>}{' '}
      {!usable && <Tag tone="warn">{texts.onlyFor(rp_id)}</Tag>}
    </span>
  );
}

/** When a factor was added and last used. */
export function Uses({ added, used }: { added: string; used: string | null }): ReactElement {
  const texts = later.secondFactors;
  return (
    <span className="factor-facts">
      <Fact text={texts.added} at={added} />
      {used === null ? <span>{texts.neverUsed}</span> : <Fact text={texts.lastUsed} at={used} />}
    </span>
  );
}

const MOMENT = '\0';

/** The moment where the sentence has it. */
function Fact({ text, at }: { text: (moment: string) => string; at: string }): ReactElement {
  const [before, after] = text(MOMENT).split(MOMENT);
  return (
    <span>
      {before}
      <PlainAgo at={at} />
      {after}
    </span>
  );
}
