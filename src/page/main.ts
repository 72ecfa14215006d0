import { render } from 'preact';
import { el } from './el.ts';

render(el('h1', null, 'Hookbay'), document.body);
