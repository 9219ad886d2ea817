// The page Users.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Users = (): ReactElement => <PageHeader title="Users" />;
