// What a page shows instead of its content: an error, a missing permission, nothing yet, no match.
import { Alert, Button, CopyButton } from '@mantine/core';
import { IconAlertTriangle, IconLock, IconSearchOff } from '@tabler/icons-react';
import type { ReactElement, ReactNode } from 'react';
import { readAgain } from '../data/api.ts';
import { useRolesWith } from '../data/catalogue.ts';
import { type Failure, failureOf } from '../data/errors.ts';
import { nameOf, useMe } from '../data/me.tsx';
import { t } from '../text.ts';
import { PageHeader } from './PageHeader.tsx';

/** Whether the change was refused because somebody else has changed the record meanwhile. */
export const isStale = ({ code }: { code: string }): boolean => code === 'precondition_failed';

/** Reads everything on screen again. */
export const ReloadButton = (): ReactElement => (
  <Button size="compact-sm" variant="default" onClick={() => void readAgain()}>
    {t.common.errors.reload}
  </Button>
);

/** A failure with its request id and, if given, a way to try again. What was typed or shown stays where it is. */
export function ErrorAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactElement {
  const failure = failureOf(error);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
      <p className="alert-text">{failure.message}</p>
      <Reasons failure={failure} />
      {failure.requestId && <p className="request-id">{t.common.errors.requestId(failure.requestId)}</p>}
      {onRetry ? (
        <Button size="compact-sm" variant="default" onClick={onRetry}>
          {t.common.actions.retry}
        </Button>
      ) : (
        isStale(failure) && <ReloadButton />
      )}
    </Alert>
  );
}

function Reasons({ failure: { reasons, fields } }: { failure: Failure }): ReactNode {
  const lines = [...reasons, ...[...fields].map(([field, message]) => `${field}: ${message}`)];
  if (lines.length === 0) return null;
  return (
    <ul className="reasons">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

type EmptyProps = {
  icon?: ReactNode;
  title: string;
  text?: string | undefined;
  action?: ReactNode;
  /** Default: 2. */
  headingLevel?: 2 | 3;
};

/** A list without entries: what could be here, and the one thing to do next. */
export function Empty({ icon, title, text, action, headingLevel = 2 }: EmptyProps): ReactElement {
  const Title = headingLevel === 2 ? 'h2' : 'h3';
  return (
    <div className="empty">
      {icon}
      <Title>{title}</Title>
      {text && <p className="muted">{text}</p>}
      {action}
    </div>
  );
}

export const NoMatch = ({ onClear }: { onClear: () => void }): ReactElement => (
  <Empty
    icon={<IconSearchOff size={32} aria-hidden />}
    title={t.common.list.noMatch}
    action={
      <Button variant="default" onClick={onClear}>
        {t.common.actions.clearFilters}
      </Button>
    }
  />
);

/** Says which permission is missing, which roles have it, and gives the text of a request for it. */
export function Forbidden({ permission, page }: { permission: string; page: string }): ReactElement {
  const me = useMe();
  const roles = useRolesWith(permission);
  return (
    <>
      <PageHeader title={page} />
      <Empty
        icon={<IconLock size={32} aria-hidden />}
        title={t.common.forbidden.title}
        text={[
          t.common.forbidden.need(permission),
          ...(roles.length > 0 ? [t.common.forbidden.roles(roles.join(', '))] : []),
        ].join(' ')}
        action={
          <CopyButton
            value={t.common.forbidden.request(`${nameOf(me.user)} (${me.user.email})`, permission, page)}
          >
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? t.common.actions.copied : t.common.forbidden.copy}
              </Button>
            )}
          </CopyButton>
        }
      />
    </>
  );
}
