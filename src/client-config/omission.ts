/** Why a server has no entry in the configuration of a client. The codes never change, the sentences may. */
export const OMISSIONS = {
  no_connection: 'The document names neither a remote nor a package',
  unsupported_registry_type: 'No client of these runs packages of this type by a command',
  unsupported_transport: 'The package listens on a port: a client can connect to it, and not start it',
  unsupported_runtime:
    'The arguments are for another runtime than the one that runs packages of this type here',
  custom_package_registry: 'The package is in another registry than the usual one of its type',
  invalid_package: 'The name or the version of the package is not one that its registry could have',
  invalid_url: 'The URL is not valid, or holds a user or a password',
  invalid_header: 'The name of a header is not valid, stands twice, or its value has a line break',
  invalid_environment_variable: 'The name of an environment variable is not valid, or stands twice',
  variable_reference:
    'A value holds what the client would take for a reference to a variable, and it has no escape for that',
  shell_syntax:
    'An argument holds a character that means something to the shell by which the client may run it',
  chosen_by_user:
    'What is to be allowed holds a value that each user chooses, and the client has no pattern for it',
  wildcard: 'What is to be allowed holds a character that the client takes for a wildcard',
  too_long: 'The texts of its connection are too long once their variables are filled in',
} as const satisfies Record<string, string>;

export type OmissionReason = keyof typeof OMISSIONS;

/** A server that has no entry, as it is named beside those that have. */
export interface Omission {
  readonly name: string;
  readonly version: string;
  readonly reason: OmissionReason;
}

/** What a document says can't be said in the configuration of a client. */
export class Inexpressible extends Error {
  override readonly name = 'Inexpressible';

  constructor(readonly reason: OmissionReason) {
    super(OMISSIONS[reason]);
  }
}
