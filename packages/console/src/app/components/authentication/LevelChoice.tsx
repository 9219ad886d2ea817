// The level of a sign-in that a role or a permission requires.
import { Radio, Stack } from '@mantine/core';
import type { ReactElement } from 'react';

type Level<L> = { value: L; label: string; help: string };

type Props<L> = {
  label: string;
  /** From the weakest to the strongest. */
  levels: readonly Level<L>[];
  value: L;
  onChange: (level: L) => void;
};

export function LevelChoice<L extends string>({ label, levels, value, onChange }: Props<L>): ReactElement {
  const choose = (chosen: string): void => {
    const level = levels.find((one) => one.value === chosen);
    if (level) onChange(level.value);
  };
  return (
    <Radio.Group label={label} value={value} onChange={choose}>
      <Stack gap="xs" mt="xs">
        {levels.map((one) => (
          <Radio
            key={one.value}
            value={one.value}
            label={one.label}
            description={one.help}
            {...(one.value === value ? { 'data-autofocus': true } : {})}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
