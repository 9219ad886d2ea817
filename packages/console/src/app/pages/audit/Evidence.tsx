// The evidence of one entry: its seal, and its proof, which the browser verifies.
import type { EntrySeal } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { saveBlob } from '../../../common/save-blob.ts';
import { SealMark } from '../../components/audit/SealMark.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { type CheckedProof, checkedProofOf } from '../../data/audit/evidence.ts';
import { isCode } from '../../data/errors.ts';
import { later } from '../../text.ts';

export function Evidence({ seal }: { seal: EntrySeal }): ReactElement {
  const texts = later.evidence;
  const [isAsked, setAsked] = useState(false);
  const query = useQuery({ ...checkedProofOf(seal.id), enabled: isAsked });
  // A seal covers the entry, and the service finds that its hashes do not lead to the root.
  const isAltered = seal.state === 'sealed' && isCode(query.error, 'not_sealed');
  return (
    <section className="evidence" aria-label={texts.title}>
      <h3 className="section-title">{texts.title}</h3>
      <p className="entry-meta">
        <SealMark seal={seal} />
      </p>
      {seal.state === 'waiting' && <p className="muted">{texts.waits}</p>}
      {seal.state === 'inserted' && <p>{texts.inserted}</p>}
      {seal.state === 'sealed' && !query.data && (
        <Button
          variant="default"
          size="compact-sm"
          loading={query.isLoading}
          onClick={() => setAsked(true)}
          className="evidence-button"
        >
          {texts.proof}
        </Button>
      )}
      {isAltered ? (
        <div role="alert">
          <ul className="proof-lines">
            <Line isGood={false} text={texts.notInSeal(formatNumber(seal.seal ?? 0))} />
          </ul>
        </div>
      ) : (
        <ReadErrors of={[query]} />
      )}
      {query.data && <Proof found={query.data} />}
    </section>
  );
}

function Proof({ found: { proof, checks } }: { found: CheckedProof }): ReactElement {
  const texts = later.evidence;
  const seal = formatNumber(proof.log_index);
  const [, seals = '', root = ''] = proof.checkpoint.split('\n');
  const lines =
    checks === null
      ? []
      : [
          { isGood: checks.isInSeal, text: checks.isInSeal ? texts.inSeal(seal) : texts.notInSeal(seal) },
          {
            isGood: checks.isInHead,
            text: checks.isInHead ? texts.inHead(formatNumber(Number(seals))) : texts.notInHead,
          },
          { isGood: checks.personal !== 'other', text: texts.personal[checks.personal] },
        ];
  const save = (): void => {
    const text = `${JSON.stringify(proof, null, 2)}\n`;
    saveBlob(new Blob([text], { type: 'application/json' }), `audit-proof-${proof.entry.id}.json`);
  };
  return (
    <div role="status" className="proof">
      {lines.length > 0 && (
        <ul className="proof-lines">
          {lines.map((line) => (
            <Line key={line.text} {...line} />
          ))}
        </ul>
      )}
      <dl className="facts">
        <div>
          <dt>{texts.head.root}</dt>
          <dd className="mono" data-raw>
            {root}
          </dd>
        </div>
      </dl>
      <p className="muted">{checks === null ? texts.cannotHash : texts.checked}</p>
      <Button variant="default" size="compact-sm" onClick={save} className="evidence-button">
        {texts.download}
      </Button>
    </div>
  );
}

function Line({ isGood, text }: { isGood: boolean; text: string }): ReactElement {
  const texts = later.evidence;
  return (
    <li className={isGood ? 'proof-good' : 'proof-bad'}>
      {isGood ? <IconCheck size={16} aria-hidden /> : <IconX size={16} aria-hidden />}
      <span>
        <span className="visually-hidden">{isGood ? texts.good : texts.bad}: </span>
        {text}
      </span>
    </li>
  );
}
