// Placeholder of RolePicker until its page is built.
import type { ReactElement } from 'react';

type Props = {
  label: string;
  /** Ids. */
  value: readonly string[];
  onChange: (ids: string[]) => void;
  /** Ids of roles that are not offered, such as those that the person already has. */
  exclude?: readonly string[];
};

export const RolePicker = (props: Props): ReactElement => <output hidden>{JSON.stringify(props)}</output>;
