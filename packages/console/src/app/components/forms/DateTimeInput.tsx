// An input for a moment, in the zone in which the page shows times. Its value is a moment, whatever the zone is.
import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactElement, useSyncExternalStore } from 'react';
import { currentZone, subscribeZone, zoneName } from '../../../common/format.ts';
import { t } from '../../text.ts';
import { fromInput, toInput } from './date-time.ts';

type Props = Omit<TextInputProps, 'value' | 'onChange' | 'type' | 'label'> & {
  label: string;
  /** As ISO 8601 with a zone, such as 2026-11-03T14:05:00.000Z. */
  value: string | undefined;
  /** Undefined while the input is empty or incomplete. */
  onChange: (moment: string | undefined) => void;
};

/** The label ends with the zone. */
export function DateTimeInput({ label, value, onChange, ...input }: Props): ReactElement {
  const zone = useSyncExternalStore(subscribeZone, currentZone);
  return (
    <TextInput
      {...input}
      type="datetime-local"
      label={t.common.inZone(label, zoneName(value === undefined ? undefined : new Date(value)))}
      value={toInput(value, zone)}
      onChange={(event) => onChange(fromInput(event.currentTarget.value, zone))}
    />
  );
}
