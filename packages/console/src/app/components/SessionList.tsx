// Live sessions: device, network, start, last use, and the button that ends one. Of one person or of many.
// It must not end anything by itself: it reports which session the person wants to end.
import type { Session, UserSession } from '@castellan/sdk';
import { IconDeviceDesktop, IconDeviceMobile, IconDeviceTablet, IconTerminal2 } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { nameOf } from '../data/me.tsx';
import { t } from '../text.ts';
import { Tag } from './badges.tsx';
import { networkOf } from './network.ts';
import './session-list.css';
import { PlainAgo } from './time.tsx';
import { type Device, deviceOf } from './user-agent.ts';

type ListedSession = Session & { user?: UserSession['user'] };

type Props<S extends ListedSession> = {
  sessions: readonly S[];
  onEnd: (session: S) => void;
  /** Names the person of each session. */
  showsUser?: boolean;
  /** Why sessions cannot be ended; the buttons are disabled and read it. */
  disabledReason?: string | null;
  /** The session that is being ended. */
  pendingId?: string | null;
};

const icons: Readonly<Record<Device['kind'], typeof IconDeviceDesktop>> = {
  desktop: IconDeviceDesktop,
  phone: IconDeviceMobile,
  tablet: IconDeviceTablet,
  program: IconTerminal2,
};

/** Returns such as "Firefox 144 on Windows". */
export function deviceName(userAgent: string | null): string {
  const device = deviceOf(userAgent);
  if (device?.browser && device.system) return t.sessions.browserOn(device.browser, device.system);
  return device?.browser ?? device?.system ?? t.sessions.unknownDevice;
}

export const SessionList = <S extends ListedSession>(props: Props<S>): ReactElement => (
  <ul className="session-list">
    {props.sessions.map((session) => (
      <SessionRow key={session.id} session={session} {...props} />
    ))}
  </ul>
);

type RowProps<S extends ListedSession> = Omit<Props<S>, 'sessions'> & { session: S };

function SessionRow<S extends ListedSession>(props: RowProps<S>): ReactElement {
  const { session, onEnd, showsUser, disabledReason, pendingId } = props;
  const Icon = icons[deviceOf(session.user_agent)?.kind ?? 'desktop'];
  const device = deviceName(session.user_agent);
  const isDisabled = Boolean(disabledReason) || pendingId === session.id;
  const reasonId = disabledReason ? `reason-${session.id}` : undefined;
  return (
    <li>
      <Icon size={22} aria-hidden className="session-icon" />
      <div className="session-text">
        {showsUser && session.user && (
          <Link className="session-user" to="/users" search={{ user: session.user.id, tab: 'sessions' }}>
            {nameOf(session.user)}
          </Link>
        )}
        <span className="session-device" title={session.user_agent ?? undefined}>
          {device} {session.current && <Tag tone="accent">{t.sessions.current}</Tag>}{' '}
          {session.unusual_network === 'new' && <Tag tone="warn">{t.sessions.newNetwork}</Tag>}
          {session.unusual_network === 'changed' && <Tag tone="warn">{t.sessions.changedNetwork}</Tag>}
        </span>
        <span className="session-facts">
          <Network address={session.origin_address} />
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
        </span>
      </div>
      <button
        type="button"
        className="session-end"
        aria-disabled={isDisabled || undefined}
        aria-describedby={reasonId}
        aria-label={t.sessions.endOf(showsUser && session.user ? nameOf(session.user) : device)}
        title={disabledReason ?? undefined}
        onClick={() => {
          if (!isDisabled) onEnd(session);
        }}
      >
        {t.sessions.end}
      </button>
      {reasonId && (
        <span id={reasonId} className="visually-hidden">
          {disabledReason}
        </span>
      )}
    </li>
  );
}

function Network({ address }: { address: string | null }): ReactElement {
  const network = networkOf(address);
  return (
    <span className="mono" title={address ?? undefined}>
      {network ?? address ?? t.sessions.unknownNetwork}
    </span>
  );
}
