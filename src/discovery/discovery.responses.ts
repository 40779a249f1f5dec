/** reference/authentication, RFC 9728 §2 */
export class ProtectedResource {
  resource: string;
  authorization_servers: string[];
  scopes_supported: string[];
  bearer_methods_supported: string[];
  resource_documentation?: string;
}
