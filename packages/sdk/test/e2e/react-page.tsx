// The page of react.test.ts: 300 components that show the account, and a record of everything that was shown.
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { type BrowserClient, createClient } from '../../src/index.ts';
import { Can, CastellanProvider, useAccount, useCan, useUser } from '../../src/react.tsx';

const OF_EACH = 100;

const newClient = (): BrowserClient => createClient({ baseUrl: location.origin, retry: { attempts: 1 } });

const Name = () => <li>{useUser()?.email ?? 'nobody'}</li>;
const Ship = () => <li>{useCan('Orders.Ship') ? 'may ship' : 'may not ship'}</li>;
const Orders = () => (
  <Can permission="orders.read" fallback={<li>no orders</li>}>
    <li>orders</li>
  </Can>
);

function App({ isSecond }: { isSecond: boolean }) {
  const account = useAccount();
  Object.assign(globalThis, { account });
  if (account.status === 'failed') return <li>failed</li>;
  const numbers = Array.from({ length: OF_EACH }, (_, number) => number);
  const parts = [Name, Ship, Orders].flatMap((Part) =>
    numbers.map((number) => <Part key={`${Part.name} ${number}`} />),
  );
  return isSecond ? [...parts, <li key="second">second client</li>] : parts;
}

function Page() {
  const [first] = useState(newClient);
  const [second, setSecond] = useState<BrowserClient>();
  const client = second ?? first;
  Object.assign(globalThis, { client, replaceClient: () => setSecond(newClient()) });
  return (
    <CastellanProvider client={client} fallback={<li>loading</li>}>
      <App isSecond={client === second} />
    </CastellanProvider>
  );
}

const root = document.createElement('ul');
document.body.append(root);

/** Each element lists the different texts that were shown at the same time. It grows whenever they change. */
export const shown: string[] = [];
new MutationObserver(() => {
  const now = [...new Set(Array.from(root.children, ({ textContent }) => textContent))].join(', ');
  if (now !== shown.at(-1)) shown.push(now);
}).observe(root, { childList: true, subtree: true, characterData: true });

createRoot(root).render(
  location.search === '?strict' ? (
    <StrictMode>
      <Page />
    </StrictMode>
  ) : (
    <Page />
  ),
);
