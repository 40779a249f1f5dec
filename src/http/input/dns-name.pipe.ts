import { Injectable, type PipeTransform } from '@nestjs/common';
import { dnsLabel } from '../../validation/value-checks.js';
import { ApiError } from '../errors.js';

/** The name of something that is to be created: 400 `invalid_name` for what the configuration would refuse too. */
@Injectable()
export class DnsNamePipe implements PipeTransform<string, string> {
  transform(name: string): string {
    if (dnsLabel(name).length > 0) throw new ApiError('invalid_name');
    return name;
  }
}
