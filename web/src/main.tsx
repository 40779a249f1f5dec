import { render } from 'preact';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/forms.css';
import './styles/tables.css';
import './styles/catalogue.css';
import './styles/entry.css';
import './styles/publish.css';
import './styles/declared.css';
import './styles/access.css';
import { forgetWhatWasKept } from './session/log-in.js';
import { App } from './shell/app.js';

window.addEventListener('pageshow', ({ persisted }) => persisted && forgetWhatWasKept());
const root = document.getElementById('app');
if (root) render(<App />, root);
