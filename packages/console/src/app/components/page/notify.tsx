// Short messages at the edge of the page: what was done, with a way back where there is one.
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { failureOf, isCode } from '../../data/errors.ts';
import { wasDeclined } from '../../data/second-factors/step-up.ts';
import { t } from '../../text.ts';
import { isStale, ReloadButton } from './states.tsx';

/** How long a reversible act can be undone. */
const UNDO_MS = 8_000;
const SHORT_MS = 4_000;

const closeButtonProps = () => ({ 'aria-label': t.common.actions.close });

export function notifyDone(message: string): void {
  notifications.show({ message, color: 'teal', autoClose: SHORT_MS, closeButtonProps: closeButtonProps() });
}

/** Tells once of what the person did not do just now. It stays until it is closed. */
export function notifyNews(id: string, message: string): void {
  notifications.show({ id, message, autoClose: false, closeButtonProps: closeButtonProps() });
}

/** Stays until it is closed. */
export function notifyFailure(error: unknown, title = t.common.errors.title): void {
  if (wasDeclined(error)) return;
  const failure = failureOf(error);
  const { requestId, requiredPermission } = failure;
  const need = requiredPermission ? ` ${t.common.forbidden.reason(requiredPermission)}` : '';
  const message = `${failure.message}${need}`;
  const text = requestId ? `${message} (${t.common.errors.requestId(requestId)})` : message;
  notifications.show({
    title,
    message: isStale(failure) ? (
      <span className="undo">
        <span>{text}</span>
        <ReloadButton />
      </span>
    ) : (
      text
    ),
    color: 'red',
    autoClose: false,
    closeButtonProps: closeButtonProps(),
  });
}

/** An undo names the version that the act has made: it must not take back what somebody else has changed since. */
const titleOf = (error: unknown): string =>
  isCode(error, 'precondition_failed') ? t.common.changed.undo : t.common.errors.title;

/** Says what was done and offers to undo it for eight seconds. A failed undo is told. */
export function notifyUndo(message: string, undo: () => Promise<unknown>): void {
  const id = notifications.show({
    message: (
      <span className="undo">
        <span>{message}</span>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            notifications.hide(id);
            undo().catch((error: unknown) => notifyFailure(error, titleOf(error)));
          }}
        >
          {t.common.actions.undo}
        </Button>
      </span>
    ),
    color: 'teal',
    autoClose: UNDO_MS,
    closeButtonProps: closeButtonProps(),
  });
}
