// The page Settings.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Settings = (): ReactElement => <PageHeader title="Settings" />;
