import { createClient } from '@castellan/sdk';
import { CastellanProvider } from '@castellan/sdk/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import './style.css';

const client = createClient({ baseUrl: location.origin });

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <CastellanProvider client={client} fallback={<p className="loading">Loading …</p>}>
      <App client={client} />
    </CastellanProvider>
  </StrictMode>,
);
