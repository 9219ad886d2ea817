// One entry of the audit log as a sentence, with its time, its outcome and where it came from.
import type { AuditLogEntry, EntrySeal } from '@castellan/sdk';
import {
  IconBan,
  IconChevronDown,
  IconChevronRight,
  IconLogin,
  IconPencil,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import { lazy, type ReactElement, type ReactNode, Suspense, useId, useState } from 'react';
import { formatClock, formatMoment } from '../../../common/format.ts';
import {
  actorNameOf,
  addressOf,
  partsOf,
  reasonOf,
  type Tone,
  targetNameOf,
  toneOf,
} from '../../data/audit/entries.ts';
import { t, withLaterTexts } from '../../text.ts';
import { type OnPick, Pick } from './Pick.tsx';
import { SealMark } from './SealMark.tsx';

// Loaded when an entry opens.
const EntryDetails = lazy(() =>
  withLaterTexts(import('./EntryDetails.tsx')).then(({ EntryDetails: details }) => ({ default: details })),
);

const icons: Readonly<Record<Tone, typeof IconBan>> = {
  bad: IconBan,
  warn: IconTrash,
  good: IconPlus,
  gray: IconLogin,
  accent: IconPencil,
};

const actorOf = (entry: AuditLogEntry): string =>
  actorNameOf(entry) ?? (entry.details.via === 'command_line' ? t.audit.commandLine : t.audit.nobody);
const targetOf = (entry: AuditLogEntry): string => targetNameOf(entry) ?? t.audit.nothing;

const templateOf = ({ action }: AuditLogEntry): string =>
  new Map(Object.entries(t.audit.sentences)).get(action) ?? t.audit.unknown(action);

/** Returns the sentence of an entry as plain text. */
export const sentenceOf = (entry: AuditLogEntry): string =>
  partsOf(templateOf(entry))
    .map(({ type, text }) => ({ text, actor: actorOf(entry), target: targetOf(entry) })[type])
    .join('');

type Props = {
  entry: AuditLogEntry;
  seal: EntrySeal | undefined;
  onPick?: OnPick | undefined;
  /** Opens the details elsewhere. Without it, they open below the sentence. */
  onOpen?: ((id: string) => void) | undefined;
  isActive: boolean;
};

export function EntryRow({ entry, seal, onPick, onOpen, isActive }: Props): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const tone = toneOf(entry.action);
  const Icon = icons[tone];
  const address = addressOf(entry);
  const reason = reasonOf(entry);
  const { more_left_out: leftOut } = entry.details;
  const Chevron = onOpen || !isOpen ? IconChevronRight : IconChevronDown;
  return (
    <li className="entry" data-active={isActive || undefined}>
      <span className={`entry-icon badge-${tone}`} aria-hidden>
        <Icon size={15} />
      </span>
      <div className="entry-body">
        {/* Its parts have no brackets in the language of tests; the name of the button has. */}
        <p className="entry-sentence" data-raw>
          <Sentence entry={entry} onPick={onPick} />
        </p>
        <p className="entry-meta">
          <time dateTime={entry.timestamp} title={formatMoment(entry.timestamp)}>
            {formatClock(entry.timestamp)}
          </time>
          {tone === 'bad' && <span className="badge badge-bad">{t.audit.refused}</span>}
          {reason !== null && <span>{new Map(Object.entries(t.audit.reasons)).get(reason) ?? reason}</span>}
          {entry.acted_by_id !== undefined && (
            <span className="badge badge-warn">
              <Pick name="acted_by" value={entry.acted_by_id} text={t.audit.actedAs} onPick={onPick} />
            </span>
          )}
          <Pick name="action" value={entry.action} text={entry.action} onPick={onPick} className="mono" />
          {address !== null && (
            <Pick name="address" value={address} text={address} onPick={onPick} className="mono" />
          )}
          {typeof leftOut === 'number' && <span>{t.audit.leftOut(leftOut)}</span>}
          {seal && <SealMark seal={seal} />}
        </p>
        {isOpen && (
          <div id={id}>
            <Suspense>
              <EntryDetails entry={entry} onPick={onPick} headingLevel={4} />
            </Suspense>
          </div>
        )}
      </div>
      <button
        type="button"
        className="icon-button"
        aria-label={t.audit.details(sentenceOf(entry))}
        {...(onOpen
          ? { 'aria-pressed': isActive }
          : { 'aria-expanded': isOpen, ...(isOpen ? { 'aria-controls': id } : {}) })}
        data-open={onOpen ? entry.id : undefined}
        onClick={() => (onOpen ? onOpen(entry.id) : setOpen(!isOpen))}
      >
        <Chevron size={16} aria-hidden className="mirrored" />
      </button>
    </li>
  );
}

type SentenceProps = { entry: AuditLogEntry; onPick: OnPick | undefined };

function Sentence({ entry, onPick }: SentenceProps): ReactNode {
  return partsOf(templateOf(entry)).map(({ type, text }) => {
    if (type === 'text') return text;
    const [name, value] =
      type === 'actor' ? [actorOf(entry), entry.actor_id] : [targetOf(entry), entry.resource_id];
    return <Pick key={type} name={type} value={value} text={name} onPick={onPick} className="entry-name" />;
  });
}
