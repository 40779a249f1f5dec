import { ApiProperty } from '@nestjs/swagger';

const SHA_256 = { pattern: '^[0-9a-f]{64}$', example: 'ab'.repeat(32) };

export class ContentFileAnswer {
  @ApiProperty({ description: 'Relative, with `/` between its segments', example: 'scripts/run.sh' })
  path: string;

  @ApiProperty({ ...SHA_256, description: 'SHA-256 of the bytes' })
  digest: string;

  @ApiProperty({ type: 'integer', minimum: 0 })
  bytes: number;

  executable: boolean;
}

export class ContentTextAnswer {
  @ApiProperty({ example: 'SKILL.md' })
  path: string;

  @ApiProperty({ description: 'Written by the publisher: not safe as HTML' })
  text: string;
}

export class ContentFiles {
  @ApiProperty({ ...SHA_256, description: 'The ETag of the zip file' })
  digest: string;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'The size of all files together' })
  bytes: number;

  @ApiProperty({ description: 'Sorted by path' })
  files: ContentFileAnswer[];

  @ApiProperty({
    description: 'The text of SKILL.md and README.md at the top, each up to 256 KiB, if they are UTF-8',
  })
  texts: ContentTextAnswer[];
}
