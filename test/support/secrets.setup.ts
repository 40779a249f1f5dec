import { forgetSecrets } from './secrets.js';

// Files that run in one process share its modules, and what these remember.
forgetSecrets();
