import type { JSX } from 'preact';
import { api, readPages, unwrap } from '../api/client.js';
import type { Block } from '../api/types.js';
import { hashOf, NEW_NAME } from '../navigation/route.js';
import { DangerButton } from '../ui/action.js';
import { Ago } from '../ui/format.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { CollapsedList, Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const COLUMNS = ['Block', 'Keeps out', 'Reason', 'Changed', { title: 'Lift', isHidden: true }];

/** `#/review/blocks`: the blocks, which apply to every source. */
export function BlocksPage(): JSX.Element {
  const query = useQuery('blocks', (signal) =>
    readPages(
      (next) => unwrap(api.GET('/v1/blocks', { params: { query: next }, signal })),
      ({ blocks }) => blocks,
    ),
  );
  return (
    <>
      <div class="page-head">
        <h1>Blocks</h1>
        <a class="button primary" href={hashOf(['review', 'blocks', NEW_NAME])}>
          New block
        </a>
      </div>
      <QueryResult query={query}>
        {(blocks) =>
          blocks.length === 0 ? (
            <EmptyState title="Nothing is blocked">
              A block keeps matching versions out of every source, and stops serving those that are already
              there.
            </EmptyState>
          ) : (
            <>
              <Table columns={COLUMNS}>
                {blocks.map((block) => (
                  <BlockRow key={block.id} block={block} refresh={query.refetch} />
                ))}
              </Table>
              <p class="below">
                <a href={hashOf(['review'], { reason: 'block' })}>Show what blocks hold</a>
              </p>
            </>
          )
        }
      </QueryResult>
    </>
  );
}

function BlockRow({ block, refresh }: { block: Block; refresh: () => void }): JSX.Element {
  const { id, reason, updatedAt } = block;
  return (
    <tr>
      <th scope="row">
        <UntrustedText text={id} class="break" />
      </th>
      <td>
        <BlockScope block={block} />
      </td>
      <td>
        <UntrustedText text={reason} class="break" />
      </td>
      <td>
        <Ago at={updatedAt} />
      </td>
      <td class="end">
        <DangerButton
          label="Lift"
          question={`Lift the block ${id}?`}
          act={async () => {
            await unwrap(api.DELETE('/v1/blocks/{id}', { params: { path: { id } } }));
            refresh();
          }}
        >
          Blocked versions return immediately, unless something else holds them.
        </DangerButton>
      </td>
    </tr>
  );
}

const VALUES_SHOWN = 5;

/** The lists of a block: a version must match a value in each. */
function BlockScope({ block }: { block: Block }): JSX.Element {
  const { names = [], types = [], versions, packages = [], remotes = [], digests = [] } = block;
  const lists = [
    ['name', names],
    ['type', types],
    ['version', versions === undefined ? [] : [versions]],
    [
      'package',
      packages.map(({ registryType, identifier, version }) =>
        [registryType, identifier, version].filter((part) => part !== undefined).join(' '),
      ),
    ],
    ['remote', remotes],
    ['digest', digests],
  ] as const;
  return (
    <ul class="block-scope">
      {lists
        .filter(([, values]) => values.length > 0)
        .map(([label, values]) => (
          <li key={label}>
            <span class="muted">{label}</span>{' '}
            <CollapsedList items={values} count={VALUES_SHOWN}>
              {(shown) =>
                shown.map((value, index) => (
                  <>
                    {index > 0 && <span class="muted"> or </span>}
                    <UntrustedText key={value} text={value} class="break mono" />
                  </>
                ))
              }
            </CollapsedList>
          </li>
        ))}
    </ul>
  );
}
