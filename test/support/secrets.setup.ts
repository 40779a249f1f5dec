import { forgetSecrets } from './secrets.js';
import { returnKeyPairs } from './tokens.js';

// Files that run in one process share modules and their state.
forgetSecrets();
returnKeyPairs();
