// Generates the API types for web/ from the OpenAPI document. Starts no service: Nest only reads the routes of
// the build.
import { mkdirSync, writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import openapiTypes, { astToString } from 'openapi-typescript';
import { AppModule } from '../dist/app/app.module.js';
import { loadConfig } from '../dist/config/load-config.js';
import { describeApi } from '../dist/http/openapi/openapi.js';
import { Metrics } from '../dist/telemetry/metrics.js';

const { config } = loadConfig('examples/sample.yaml', {}, {});
const app = await NestFactory.create(AppModule.with(config, {}, new Metrics()), {
  preview: true,
  logger: ['error'],
});
const document = describeApi(app, { version: '', oauth: null });
mkdirSync('web/generated', { recursive: true });
writeFileSync('web/generated/openapi.d.ts', astToString(await openapiTypes(document)));
