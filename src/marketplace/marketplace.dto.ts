import { ApiProperty } from '@nestjs/swagger';
import { Allow } from 'class-validator';

export class UploadPackQuery {
  @Allow() service?: string;
}

export class MarketplaceOwner {
  name: string;
}

/** Where a client fetches a plugin from: a directory of a Git repository. */
export class PluginSource {
  @ApiProperty({ enum: ['git-subdir'] })
  source: string;

  @ApiProperty({ example: 'https://registry.example.com/registry/default/git/marketplace.git' })
  url: string;

  @ApiProperty({ example: 'plugins/io-github-example-deploy' })
  path: string;
}

export class PluginAnswer {
  @ApiProperty({
    example: 'io-github-example-deploy',
    description: 'The namespace with hyphens, a hyphen, and the name',
  })
  name: string;
  source: PluginSource;
  description: string;
  version: string;
}

/** The marketplace file of Claude Code: https://code.claude.com/docs/en/plugins/marketplace-reference */
export class MarketplaceAnswer {
  name: string;
  owner: MarketplaceOwner;
  plugins: PluginAnswer[];
}
