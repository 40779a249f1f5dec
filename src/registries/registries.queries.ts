import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Partition } from '../authz/view.js';

export interface RegistryRow {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const COLUMNS = `id, name, created_at as "createdAt", updated_at as "updatedAt"`;

@Injectable()
export class RegistriesQueries {
  constructor(private readonly dataSource: DataSource) {}

  async findByName(name: string): Promise<RegistryRow | undefined> {
    const rows = await this.dataSource.query<RegistryRow[]>(
      `select ${COLUMNS} from registry where name = $1`,
      [name],
    );
    return rows[0];
  }

  /** Every registry: those of the configuration in its order, then those made through the API by age. */
  async all(): Promise<RegistryRow[]> {
    return this.dataSource.query<RegistryRow[]>(
      `select ${COLUMNS} from registry order by origin = 'api', position, id`,
    );
  }

  /**
   * The partitions in use of one registry, in the order of its sources. Steps from one claim set to the next along the
   * partition index, so the cost follows the number of partitions and not that of entries.
   */
  async partitions(registryId: number): Promise<Partition[]> {
    return this.dataSource.query<Partition[]>(
      `with recursive step as (
         select rs.position, rs.source_id, t.type, (
           select min(e.claim_set_id) from entry e where e.source_id = rs.source_id and e.type = t.type
         ) as claim_set_id
         from registry_source rs cross join (values ('server'), ('skill')) t(type) where rs.registry_id = $1
         union all
         select s.position, s.source_id, s.type, (
           select min(e.claim_set_id) from entry e
           where e.source_id = s.source_id and e.type = s.type and e.claim_set_id > s.claim_set_id
         )
         from step s where s.claim_set_id is not null
       )
       select source_id as "sourceId", claim_set_id as "claimSetId" from step where claim_set_id is not null
       group by position, source_id, claim_set_id order by position, claim_set_id`,
      [registryId],
    );
  }
}
