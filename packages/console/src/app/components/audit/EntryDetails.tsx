// Everything that one audit entry holds: the fields that changed, the facts around it, and the entry as JSON.
import type { AuditLogEntry } from '@castellan/sdk';
import { CopyButton } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';
import {
  actorNameOf,
  type Change,
  changesOf,
  factsOf,
  rawOf,
  targetNameOf,
} from '../../data/audit/entries.ts';
import { labelOf, usePerson } from '../../data/people.ts';
import { later, t } from '../../text.ts';
import { ReadErrors } from '../page/states.tsx';
import { Moment } from '../text/time.tsx';
import { type OnPick, Pick } from './Pick.tsx';

type Props = { entry: AuditLogEntry; onPick?: OnPick | undefined; headingLevel: 3 | 4 };

export function EntryDetails({ entry, onPick, headingLevel }: Props): ReactElement {
  const changes = changesOf(entry);
  const Title = headingLevel === 3 ? 'h3' : 'h4';
  const actor = actorNameOf(entry);
  const target = targetNameOf(entry);
  return (
    <div className="entry-details">
      {changes.length > 0 && (
        <>
          <Title className="section-title">{later.entry.changed}</Title>
          <Changes changes={changes} />
        </>
      )}
      <Title className="section-title">{later.entry.facts}</Title>
      <dl className="facts">
        <Fact label={t.audit.time}>
          <Moment at={entry.timestamp} />
        </Fact>
        <Fact label={t.audit.action}>
          <Pick name="action" value={entry.action} text={entry.action} onPick={onPick} className="mono" />
        </Fact>
        {actor !== null && (
          <Fact label={t.audit.actor}>
            <Pick name="actor" value={entry.actor_id} text={actor} onPick={onPick} />
          </Fact>
        )}
        {entry.acted_by_id !== undefined && <ActedBy id={entry.acted_by_id} onPick={onPick} />}
        {target !== null && (
          <Fact label={t.audit.target}>
            <Pick name="target" value={entry.resource_id} text={target} onPick={onPick} />
          </Fact>
        )}
        <Fact label={t.audit.type}>
          <Pick
            name="type"
            value={entry.resource_type}
            text={entry.resource_type}
            onPick={onPick}
            className="mono"
          />
        </Fact>
        {factsOf(entry).map(({ name, text }) => (
          <Fact key={name} label={name} isName>
            {name === 'address' ? (
              <Pick name="address" value={text} text={text} onPick={onPick} className="mono" />
            ) : (
              <span className="mono">{text}</span>
            )}
          </Fact>
        ))}
      </dl>
      <details className="raw">
        <summary>{later.entry.raw}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
        <pre tabIndex={0}>{rawOf(entry)}</pre>
        <CopyButton value={rawOf(entry)}>
          {({ copied, copy }) => (
            <button type="button" className="link-button" onClick={copy}>
              {copied ? t.common.actions.copied : t.common.actions.copy}
            </button>
          )}
        </CopyButton>
      </details>
    </div>
  );
}

/** Entries name who acted as their actor by the id alone. */
function ActedBy({ id, onPick }: { id: string; onPick: OnPick | undefined }): ReactElement {
  const { person, read } = usePerson(id);
  return (
    <Fact label={t.audit.actedBy}>
      <Pick name="acted_by" value={id} text={person ? labelOf(person) : id} onPick={onPick} />
      <ReadErrors of={[read]} />
    </Fact>
  );
}

/** `isName`: the label is the name of a detail, as the service writes it. */
function Fact({
  label,
  isName,
  children,
}: {
  label: string;
  isName?: boolean;
  children: ReactNode;
}): ReactElement {
  return (
    <div>
      <dt className={isName ? 'mono' : undefined}>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Changes({ changes }: { changes: readonly Change[] }): ReactElement {
  return (
    <table className="changes" aria-label={later.entry.changed}>
      <thead>
        <tr>
          <th scope="col">{later.entry.field}</th>
          <th scope="col">{later.entry.before}</th>
          <th scope="col">{later.entry.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.field}>
            <th scope="row" className="mono">
              {change.field}
            </th>
            {change.added && change.removed ? (
              <>
                <td>
                  <Items items={change.removed} sign="−" className="was" text={later.entry.wasRemoved} />
                </td>
                <td>
                  <Items items={change.added} sign="+" className="is" text={later.entry.wasAdded} />
                </td>
              </>
            ) : (
              <>
                <td>{change.before === null ? '–' : <del className="was">{change.before || '–'}</del>}</td>
                <td>{change.after === null ? '–' : <ins className="is">{change.after || '–'}</ins>}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type ItemsProps = {
  items: readonly string[];
  sign: string;
  className: string;
  text: (name: string) => string;
};

const Items = ({ items, sign, className, text }: ItemsProps): ReactElement => (
  <>
    {items.map((item) => (
      <span key={item} className={`item ${className}`}>
        <span aria-hidden>
          {sign} {item}
        </span>
        <span className="visually-hidden">{text(item)}</span>
      </span>
    ))}
  </>
);
