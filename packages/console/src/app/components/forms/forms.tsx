// Forms: what was typed stays, errors of the service stand at their fields, success is said only after the response.
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { type FormEvent, type ReactElement, type ReactNode, useEffect, useRef } from 'react';
import { type Failure, failureOf } from '../../data/errors.ts';
import { t } from '../../text.ts';
import { ErrorAlert } from '../page/states.tsx';

type FormProps = {
  onSubmit: () => void;
  isPending: boolean;
  error: unknown;
  submitLabel: string;
  onCancel?: () => void;
  /** Fields of this form. An error at another field shows above the buttons. */
  fields: readonly string[];
  isDangerous?: boolean;
  isDisabled?: boolean;
  children: ReactNode;
};

/** Shows an error that is not only about fields of the form above the buttons, and moves the focus to the first field with an error. */
export function Form({ children, error, fields, isPending, onSubmit, ...rest }: FormProps): ReactElement {
  const form = useRef<HTMLFormElement>(null);
  const named = error ? [...failureOf(error).fields.keys()] : [];
  const isAtField = named.length > 0 && named.every((name) => fields.includes(name));
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isPending) onSubmit();
  };
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="sm">
        {children}
        {Boolean(error) && !isAtField && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          {rest.onCancel && (
            <Button variant="default" onClick={rest.onCancel}>
              {t.common.actions.cancel}
            </Button>
          )}
          <Button
            type="submit"
            loading={isPending}
            disabled={rest.isDisabled ?? false}
            {...(rest.isDangerous ? { color: 'red' } : {})}
          >
            {rest.submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Returns the message of the service for a field, for the `error` of an input; null without one. */
export function fieldError(error: unknown, field: string): string | null {
  if (!error) return null;
  const failure: Failure = failureOf(error);
  return failure.fields.get(field) ?? null;
}

type LeaveGuardProps = {
  when: boolean;
  /** What is lost, where it is not what was typed. */
  title?: string;
  text?: string;
  /** The parts of the address that the form belongs to, such as `user` and `tab` of a pane. */
  of?: readonly string[];
};

/**
 * While `when`, asks before the form is left: by a link, "Back", a reload or the closing of the tab. Filters are in the
 * address, too: only another page, or another value of a part in `of`, loses the form.
 */
export function LeaveGuard({ when, of = [], title, text }: LeaveGuardProps): ReactElement | null {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      when &&
      (current.pathname !== next.pathname ||
        of.some((name) => Reflect.get(current.search, name) !== Reflect.get(next.search, name))),
    enableBeforeUnload: () => when,
    withResolver: true,
  });
  if (blocker.status !== 'blocked') return null;
  return (
    <Modal
      opened
      onClose={blocker.reset}
      title={title ?? t.common.leave.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack>
        <p>{text ?? t.common.leave.text}</p>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={blocker.reset} data-autofocus>
            {t.common.leave.stay}
          </Button>
          <Button color="red" onClick={blocker.proceed}>
            {t.common.leave.leave}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
