import { useState } from 'preact/hooks';

const KEY = 'registry.client';

/** The client that the user chose last, here or in an earlier visit. */
let last: string | null = stored();

/**
 * Returns the client to show installation steps for, and a function to change it. The choice applies to every entry.
 *
 * @param clients that can install the entry, best first.
 */
export function useClient(clients: readonly string[]): [client: string, choose: (client: string) => void] {
  const [chosen, setChosen] = useState(last);
  const choose = (client: string) => {
    last = client;
    try {
      localStorage.setItem(KEY, client);
    } catch {
      // The browser may refuse to store anything.
    }
    setChosen(client);
  };
  const client = chosen !== null && clients.includes(chosen) ? chosen : (clients[0] ?? '');
  return [client, choose];
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
