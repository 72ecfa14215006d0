import { createInspector } from './state/inspector.ts';
import { readSettings } from './state/settings.ts';

// It asks the API for what the address names while the views are still on their way.
const inspector = createInspector(readSettings());
const { draw } = await import('./view/app.ts');
draw(inspector);
