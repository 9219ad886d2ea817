// What a page shows instead of its content: an error, nothing yet, no match.
import { Alert, Button } from '@mantine/core';
import { IconAlertTriangle, IconSearchOff } from '@tabler/icons-react';
import { lazy, type ReactElement, type ReactNode, Suspense } from 'react';
import { type ReadState, readAgain } from '../../data/api.ts';
import { type Failure, failureOf } from '../../data/errors.ts';
import { stepUp } from '../../data/second-factors/step-up.ts';
import { t } from '../../text.ts';

const Loaded = lazy(() =>
  import('../permissions/MissingPermission.tsx').then((file) => ({ default: file.MissingPermission })),
);

/** What to do about a missing permission. Few people meet it, so it loads apart. */
export const MissingPermission = (props: { permission: string; page?: string }): ReactElement => (
  <Suspense>
    <Loaded {...props} />
  </Suspense>
);

/** Whether the change was refused because somebody else has changed the record since it was read. */
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
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle aria-hidden />}
      role="alert"
      className="error-alert"
    >
      <p className="alert-text">{failure.message}</p>
      <Reasons failure={failure} />
      {failure.requiredPermission && <MissingPermission permission={failure.requiredPermission} />}
      {failure.requestId && <p className="request-id">{t.common.errors.requestId(failure.requestId)}</p>}
      {onRetry ? (
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            stepUp.allowAgain();
            onRetry();
          }}
        >
          {t.common.actions.retry}
        </Button>
      ) : (
        isStale(failure) && <ReloadButton />
      )}
    </Alert>
  );
}

/** The failure of what one place shows, with a way to try again: it asks again for all that failed. */
export function ReadErrors({ of: reads }: { of: readonly ReadState[] }): ReactElement | null {
  const failed = reads.filter(({ error }) => error);
  const [first] = failed;
  if (!first) return null;
  const retry = (): void => {
    for (const { refetch } of failed) void refetch();
  };
  return <ErrorAlert error={first.error} onRetry={retry} />;
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
