import { h, type ComponentChild, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import type { Dialog } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';

/** The code of a dialog is loaded when it is opened first. */
const LOADERS: { [N in Dialog['name']]: () => Promise<FunctionComponent<Extract<Dialog, { name: N }>>> } = {
  create: async () => (await import('./create-endpoint.ts')).CreateEndpoint,
  'delete-endpoint': async () => (await import('./delete-endpoint.ts')).DeleteEndpoint,
  'compare-with': async () => (await import('./compare-with.ts')).CompareWith,
  'delete-entries': async () => (await import('./delete-entries.ts')).DeleteEntries,
  help: async () => (await import('./help.ts')).Help,
  response: async () => (await import('./response.ts')).ResponseEditor,
  shares: async () => (await import('./shares.ts')).Shares,
  export: async () => (await import('./export.ts')).Export,
};

export function Dialogs(): ComponentChild {
  const dialog = useStore(useInspector().dialog);
  return dialog === undefined ? null : h(Loaded, { dialog, key: dialog.name });
}

function Loaded({ dialog }: { dialog: Dialog }): ComponentChild {
  const inspector = useInspector();
  const [view, setView] = useState<{ view: FunctionComponent<Dialog> }>();
  useEffect(() => {
    const load = LOADERS[dialog.name] as () => Promise<FunctionComponent<Dialog>>;
    load().then(
      (loaded) => setView({ view: loaded }),
      () => {
        inspector.dialog.set(undefined);
        inspector.say('Hookbay is unreachable: this part of the page could not be loaded');
      },
    );
  }, []);
  return view === undefined ? null : h(view.view, dialog);
}

const SHOWN_MS = 4_000;

/** What was just done; screen readers read it out. */
export function Notices(): ComponentChild {
  const notice = useStore(useInspector().notice);
  const [over, setOver] = useState(0);
  useEffect(() => {
    if (notice === undefined) return undefined;
    const timer = setTimeout(() => setOver(notice.number), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  const text = notice === undefined || notice.number === over ? '' : notice.text;
  return el('div', { class: 'notice', role: 'status', 'data-empty': text === '' ? 'true' : undefined }, text);
}
