import { Module } from '@nestjs/common';
import { EntryWriter } from './entry-writer.js';

@Module({ providers: [EntryWriter], exports: [EntryWriter] })
export class EntriesModule {}
