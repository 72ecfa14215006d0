import { h, render } from 'preact';
import { readSettings } from './state/settings.ts';
import { createInspector } from './state/inspector.ts';
import { App } from './view/app.ts';

render(h(App, { inspector: createInspector(readSettings()) }), document.body);
