import type { INestApplicationContext } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

const marked = DiscoveryService.createDecorator<Record<string, never>>();

interface Job {
  /** Called once, after the application is initialized. */
  begin(): void;
}

/** Marks a provider that polls the database. Replicas coordinate their jobs through the database. */
export function BackgroundJob(): (job: abstract new (...dependencies: never[]) => Job) => void {
  return marked({}) as (job: Function) => void;
}

/** Begins all background jobs of an application that imports DiscoveryModule. */
export function beginBackgroundJobs(app: INestApplicationContext): void {
  const jobs = app.get(DiscoveryService, { strict: false }).getProviders({ metadataKey: marked.KEY });
  for (const { instance } of jobs) (instance as Job).begin();
}
