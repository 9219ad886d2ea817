// Asks before something that cannot be taken back, or that changes what others may do.
import { Modal, TextInput } from '@mantine/core';
import { type ReactElement, type ReactNode, useState } from 'react';
import { t } from '../../text.ts';
import { Form } from '../forms/forms.tsx';
import { Impact, numberToType, type Preview } from './impact.tsx';

type Props = {
  title: string;
  confirmLabel: string;
  isDangerous?: boolean;
  isPending: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
  /** Shows what the change would do; a refusal in it disables the button. */
  preview?: Preview;
  /** What to say if the change does nothing to anybody now. */
  nothing?: string;
  /** Something is still to be chosen or typed. */
  isDisabled?: boolean;
  /** Fields among the children, which show their own errors. */
  fields?: readonly string[];
  children?: ReactNode;
  /** What the person types to confirm, below what the change would do, in the place of a number. */
  confirmation?: ReactNode;
};

/** Stays open, with what was typed, until the service has confirmed the change. */
export function ConfirmDialog({
  title,
  preview,
  children,
  onClose,
  onConfirm,
  ...rest
}: Props): ReactElement {
  const [typed, setTyped] = useState('');
  const needed = rest.confirmation ? null : numberToType(preview?.data);
  const isBlocked =
    rest.isDisabled === true ||
    (preview !== undefined && (!preview.data || preview.data.would_be_refused !== null)) ||
    (needed !== null && typed.replaceAll(/\D/g, '') !== String(needed));
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => {
          if (!isBlocked) onConfirm();
        }}
        isPending={rest.isPending}
        error={rest.error}
        fields={rest.fields ?? []}
        submitLabel={rest.confirmLabel}
        isDangerous={rest.isDangerous ?? false}
        isDisabled={isBlocked}
        onCancel={onClose}
      >
        {children}
        {preview && <Impact preview={preview} nothing={rest.nothing} />}
        {rest.confirmation}
        {needed !== null && (
          <TextInput
            label={t.common.confirm.typeCount(String(needed))}
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
      </Form>
    </Modal>
  );
}
