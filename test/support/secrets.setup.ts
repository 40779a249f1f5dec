import { forgetSecrets } from './secrets.js';
import { returnKeyPairs } from './tokens.js';

// Files that run in one process share its modules, and what these remember.
forgetSecrets();
returnKeyPairs();
