// The page Roles.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Roles = (): ReactElement => <PageHeader title="Roles" />;
