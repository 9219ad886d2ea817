// The app: loads the texts, continues the session and shows the page of the address.
import { CastellanProvider } from '@castellan/sdk/react';
import { DirectionProvider, localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { language, markDocument } from '../common/language.ts';
import { clientOfApp, OWN_PERMISSIONS } from './data/early-reads.ts';
import './mantine.css';
import './app.css';
import { keepFocus } from './components/keyboard/keep-focus.ts';
import { queryClient } from './data/api.ts';
import { Boot } from './shell/Boot.tsx';
import { Pages } from './shell/Pages.tsx';
import { loadTexts } from './text.ts';
import { resolveVariables, theme } from './theme.ts';

const colorSchemeManager = localStorageColorSchemeManager({ key: 'castellan.scheme' });

const isPhone = matchMedia('(max-width: 48em)').matches;

markDocument();
await loadTexts();
const root = document.getElementById('root');
if (!root) throw new Error('The page has no element "root".');
keepFocus();
createRoot(root).render(
  <StrictMode>
    <DirectionProvider initialDirection={language === 'en-XB' ? 'rtl' : 'ltr'} detectDirection={false}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={resolveVariables}
        colorSchemeManager={colorSchemeManager}
        defaultColorScheme="auto"
      >
        {/* On phones, the bars with what is not saved are at the bottom. */}
        <Notifications position={isPhone ? 'top-center' : 'bottom-right'} zIndex={300} />
        <QueryClientProvider client={queryClient}>
          <CastellanProvider client={clientOfApp} permissions={OWN_PERMISSIONS} fallback={<Boot />}>
            <Pages />
          </CastellanProvider>
        </QueryClientProvider>
      </MantineProvider>
    </DirectionProvider>
  </StrictMode>,
);
