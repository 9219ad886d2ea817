// Asks why and for how long, and starts to act as a user. The page then loads anew as theirs.
import type { User } from '@castellan/sdk';
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../../components/forms/forms.tsx';
import { startActing } from '../../../data/acting/acting.ts';
import { nameOf } from '../../../data/me.tsx';
import { wasDeclined } from '../../../data/second-factors/step-up.ts';
import { later, t } from '../../../text.ts';

/** What the service takes: characters of a reason, and minutes. */
const MIN_REASON = 5;
const MAX_REASON = 500;
const MAX_MINUTES = 60;
const PROPOSED_MINUTES = '15';

export function ActAsDialog({ user, onClose }: { user: User; onClose: () => void }): ReactElement {
  const texts = later.acting;
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState(PROPOSED_MINUTES);
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const count = Number(minutes);
  const isPossible =
    reason.trim().length >= MIN_REASON && Number.isInteger(count) && count >= 1 && count <= MAX_MINUTES;
  // Without an end when it works: this page is being left.
  const begin = (): void => {
    setPending(true);
    setError(null);
    startActing(user, { reason, minutes: count }).catch((failure: unknown) => {
      if (!wasDeclined(failure)) setError(failure);
      setPending(false);
    });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.ask(nameOf(user))}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={begin}
        isPending={isPending}
        error={error}
        fields={['reason', 'minutes']}
        submitLabel={texts.begin}
        isDisabled={!isPossible}
        onCancel={onClose}
      >
        <p>{texts.text(nameOf(user))}</p>
        <p className="muted">{texts.told}</p>
        <Textarea
          data-autofocus
          required
          label={texts.reason}
          description={texts.reasonHelp}
          autosize
          minRows={2}
          maxLength={MAX_REASON}
          value={reason}
          error={fieldError(error, 'reason')}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <TextInput
          required
          type="number"
          inputMode="numeric"
          min={1}
          max={MAX_MINUTES}
          label={texts.minutes}
          description={texts.minutesHelp}
          value={minutes}
          error={fieldError(error, 'minutes')}
          onChange={(event) => setMinutes(event.currentTarget.value)}
        />
      </Form>
    </Modal>
  );
}
