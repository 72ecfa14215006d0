import { h, type ComponentChild, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Dialog } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';

/** The code of a dialog is loaded when it is opened first. */
const LOADERS: { [N in Dialog['name']]?: () => Promise<FunctionComponent<Extract<Dialog, { name: N }>>> } = {
  'compare-with': async () => (await import('./compare-with.ts')).CompareWith,
  'delete-entries': async () => (await import('./delete-entries.ts')).DeleteEntries,
  help: async () => (await import('./help.ts')).Help,
};

export function Dialogs(): ComponentChild {
  const dialog = useStore(useInspector().dialog);
  return dialog === undefined ? null : h(Loaded, { dialog, key: dialog.name });
}

function Loaded({ dialog }: { dialog: Dialog }): ComponentChild {
  const [view, setView] = useState<{ view: FunctionComponent<Dialog> }>();
  useEffect(() => {
    const load = LOADERS[dialog.name] as (() => Promise<FunctionComponent<Dialog>>) | undefined;
    void load?.().then((loaded) => setView({ view: loaded }));
  }, []);
  return view === undefined ? null : h(view.view, dialog);
}
