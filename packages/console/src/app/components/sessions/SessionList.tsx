// Live sessions: device, network, start, last use, and the buttons that end them. Of one person or of many. Sessions of one
// person on one device are folded into one entry.
// It must not end anything without a question: it reports which session the person wants to end, and asks about a group.
import {
  IconChevronRight,
  IconDeviceDesktop,
  IconDeviceMobile,
  IconDeviceTablet,
  IconTerminal2,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, type ReactNode, Suspense, useId, useState } from 'react';
import { nameOf, useCan } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';
import { Tag } from '../text/badges.tsx';
import { networkOf } from '../text/network.ts';
import { PlainAgo } from '../text/time.tsx';
import { groupSessions, type ListedSession } from './groups.ts';
import { beganWith, deviceName, sessionName } from './names.ts';
import './session-list.css';
import { type Device, deviceOf } from './user-agent.ts';

const EndGroupDialog = lazy(() =>
  withLaterTexts(import('./EndGroupDialog.tsx')).then((file) => ({ default: file.EndGroupDialog })),
);

type Props<S extends ListedSession> = {
  sessions: readonly S[];
  onEnd: (session: S) => void;
  /** Ends one of a group, after the question. One that has ended by itself may be refused as not found. */
  endById: (id: string) => Promise<unknown>;
  /** What ending a group means. */
  groupText: string;
  /** More may be loaded, so a group may be larger than what is listed. */
  isPart?: boolean;
  /** Whose sessions these are, where the sessions do not say it. Without, they do not lead to the audit log. */
  userId?: string;
  /** Names the person of each session. */
  showsUser?: boolean;
  /** Why sessions cannot be ended; the buttons are disabled and read it. */
  disabledReason?: string | null;
};

const icons: Readonly<Record<Device['kind'], typeof IconDeviceDesktop>> = {
  desktop: IconDeviceDesktop,
  phone: IconDeviceMobile,
  tablet: IconDeviceTablet,
  program: IconTerminal2,
};

export function SessionList<S extends ListedSession>({ sessions, ...rest }: Props<S>): ReactElement {
  const { onEnd, endById, groupText, isPart = false, userId, showsUser, disabledReason } = rest;
  const [asked, setAsked] = useState<readonly ListedSession[] | null>(null);
  return (
    <>
      <ul className="session-list">
        {groupSessions(sessions).map(({ key, sessions: [first, ...others] }) =>
          others.length === 0 ? (
            <li key={first.id}>
              <Head session={first} showsUser={showsUser}>
                <Facts session={first} userId={userId} />
              </Head>
              <EndButton
                label={t.sessions.endOf(sessionName(first))}
                reason={disabledReason}
                onEnd={() => onEnd(first)}
              >
                {t.sessions.end}
              </EndButton>
            </li>
          ) : (
            <Group
              key={key}
              sessions={[first, ...others]}
              isPart={isPart}
              userId={userId}
              showsUser={showsUser}
              disabledReason={disabledReason}
              onEnd={onEnd}
              onEndAll={setAsked}
            />
          ),
        )}
      </ul>
      <Suspense>
        {asked && (
          <EndGroupDialog
            sessions={asked}
            end={endById}
            text={groupText}
            isPart={isPart}
            onClose={() => setAsked(null)}
          />
        )}
      </Suspense>
    </>
  );
}

type GroupProps<S> = {
  sessions: readonly [S, ...S[]];
  isPart: boolean;
  userId: string | undefined;
  showsUser: boolean | undefined;
  disabledReason: string | null | undefined;
  onEnd: (session: S) => void;
  onEndAll: (sessions: readonly S[]) => void;
};

function Group<S extends ListedSession>(props: GroupProps<S>): ReactElement {
  const { sessions, isPart, userId, showsUser, disabledReason, onEnd, onEndAll } = props;
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const [first] = sessions;
  const name = sessionName(first);
  const count = t.sessions.groupOf(sessions.length, isPart);
  return (
    <li>
      <Head session={first} showsUser={showsUser}>
        <span className="session-facts">
          <button
            type="button"
            className="session-fold"
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            aria-label={`${count}: ${name}`}
            onClick={() => setOpen(!isOpen)}
          >
            <IconChevronRight size={14} aria-hidden className="mirrored" />
            {count}
          </button>
          <Networks sessions={sessions} />
          <span>
            {t.sessions.lastUsed} <PlainAgo at={latestOf(sessions)} />
          </span>
        </span>
      </Head>
      <EndButton
        label={t.sessions.endGroupOf(sessions.length, name)}
        reason={disabledReason}
        onEnd={() => onEndAll(sessions)}
      >
        {t.sessions.endGroup}
      </EndButton>
      {isOpen && (
        <ul id={id} className="session-members" aria-label={`${count}: ${name}`}>
          {sessions.map((session) => (
            <li key={session.id}>
              <div className="session-text">
                <Facts session={session} userId={userId} />
              </div>
              <EndButton
                label={t.sessions.endOf(`${name}, ${placeOf(session.origin_address)}`)}
                reason={disabledReason}
                onEnd={() => onEnd(session)}
              >
                {t.sessions.end}
              </EndButton>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const latestOf = (sessions: readonly ListedSession[]): string =>
  sessions
    .map(({ last_used_at }) => last_used_at)
    .sort()
    .at(-1) ?? '';

type HeadProps = { session: ListedSession; showsUser: boolean | undefined; children: ReactNode };

function Head({ session, showsUser, children }: HeadProps): ReactElement {
  const Icon = icons[deviceOf(session.user_agent)?.kind ?? 'desktop'];
  return (
    <>
      <Icon size={22} aria-hidden className="session-icon" />
      <div className="session-text">
        {showsUser && session.user && (
          <Link className="session-user" to="/users" search={{ user: session.user.id, tab: 'sessions' }}>
            {nameOf(session.user)}
          </Link>
        )}
        <span className="session-device" title={session.user_agent ?? undefined}>
          {deviceName(session.user_agent)} {session.current && <Tag tone="accent">{t.sessions.current}</Tag>}{' '}
          {session.acted_by && <Tag tone="warn">{t.sessions.acting}</Tag>}
          {session.unusual_network === 'new' && <Tag tone="warn">{t.sessions.newNetwork}</Tag>}
          {session.unusual_network === 'changed' && <Tag tone="warn">{t.sessions.changedNetwork}</Tag>}
        </span>
        {children}
      </div>
    </>
  );
}

type FactsProps = { session: ListedSession; userId: string | undefined };

function Facts({ session, userId }: FactsProps): ReactElement {
  const mayReadLog = useCan('audit_log.read');
  const actor = session.user?.id ?? userId;
  const address = session.origin_address;
  return (
    <span className="session-facts">
      {session.acted_by && <span>{t.sessions.actedBy(nameOf(session.acted_by))}</span>}
      <Network address={address} />
      {session.unusual_network === 'changed' && (
        <span>
          {t.sessions.lastNetwork} <Network address={session.last_address} />
        </span>
      )}
      <span>
        {t.sessions.lastUsed} <PlainAgo at={session.last_used_at} />
      </span>
      <span>
        {t.sessions.started} <PlainAgo at={session.created_at} />
      </span>
      {session.methods && <span>{beganWith(session.methods)}</span>}
      {mayReadLog && actor && address && (
        // The log has no filter by session.
        <Link
          to="/audit"
          search={{ actor, address }}
          className="text-link"
          aria-label={t.sessions.logOf(sessionName(session), address)}
        >
          {t.common.nav.audit}
        </Link>
      )}
    </span>
  );
}

type EndProps = {
  label: string;
  reason: string | null | undefined;
  onEnd: () => void;
  children: ReactNode;
};

function EndButton({ label, reason, onEnd, children }: EndProps): ReactElement {
  const id = useId();
  return (
    <>
      <button
        type="button"
        className="session-end"
        aria-disabled={reason ? true : undefined}
        aria-describedby={reason ? id : undefined}
        aria-label={label}
        title={reason ?? undefined}
        onClick={() => {
          if (!reason) onEnd();
        }}
      >
        {children}
      </button>
      {reason && (
        <span id={id} className="visually-hidden">
          {reason}
        </span>
      )}
    </>
  );
}

const placeOf = (address: string | null): string =>
  networkOf(address) ?? address ?? t.sessions.unknownNetwork;

const Network = ({ address }: { address: string | null }): ReactElement => (
  <span className="mono" title={address ?? undefined}>
    {placeOf(address)}
  </span>
);

/** The network that all sessions have, or how many networks they have. */
function Networks({ sessions }: { sessions: readonly ListedSession[] }): ReactElement {
  const [place, ...others] = new Set(sessions.map(({ origin_address }) => placeOf(origin_address)));
  return others.length === 0 ? (
    <span className="mono">{place}</span>
  ) : (
    <span>{t.sessions.networkNumber(others.length + 1)}</span>
  );
}
