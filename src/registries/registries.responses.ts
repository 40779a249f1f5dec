export class RegistrySummary {
  /** The name that stands in the path of the consumer API. */
  name: string;
  /** RFC 3339 in UTC. */
  createdAt: string;
  /** RFC 3339 in UTC. */
  updatedAt: string;
}

export class RegistryList {
  registries: RegistrySummary[];
}
