// The input of every password. Mantine's own does not tell screen readers that it is invalid.
import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

export const PasswordField = (props: PasswordInputProps): ReactElement => (
  <PasswordInput
    required
    aria-invalid={Boolean(props.error)}
    visibilityToggleButtonProps={{ 'aria-label': t.common.password.show }}
    {...props}
  />
);
