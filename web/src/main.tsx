import { render } from 'preact';
import { discardRestoredPage } from './session/log-in.js';
import { App } from './shell/app.js';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/forms.css';
import './styles/tables.css';
import './styles/catalogue.css';
import './styles/content.css';
import './styles/publish.css';
import './styles/resources.css';
import './styles/access.css';
import './styles/admission.css';
import './styles/print.css';

window.addEventListener('pageshow', ({ persisted }) => persisted && discardRestoredPage());
const root = document.getElementById('app');
if (root) render(<App />, root);
