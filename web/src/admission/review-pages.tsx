import type { JSX } from 'preact';
import { NEW_NAME, type Route } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { BlockFormPage } from './block-form-page.js';
import { BlocksPage } from './blocks-page.js';
import { ItemPage } from './item-page.js';
import { QueuePage } from './queue-page.js';

/** `#/review`, `#/review/{id}`, `#/review/blocks`, `#/review/blocks/+new` */
export function ReviewRoutes({ route }: { route: Route }): JSX.Element {
  const [, item, action] = route.path;
  if (item === 'blocks' && action === NEW_NAME) return <BlockFormPage query={route.query} />;
  if (item !== undefined && item !== 'blocks') return <ItemPage key={item} id={item} />;
  return (
    <>
      <ReviewTabs current={item ?? 'queue'} />
      {item === 'blocks' ? <BlocksPage /> : <QueuePage route={route} />}
    </>
  );
}

function ReviewTabs({ current }: { current: string }): JSX.Element {
  const session = useSession();
  if (!isOffered(session, 'superAdmin')) return <></>;
  return (
    <nav class="tabs" aria-label="Review">
      <a href="#/review" aria-current={current === 'queue' ? 'page' : undefined}>
        Queue
      </a>
      <a href="#/review/blocks" aria-current={current === 'blocks' ? 'page' : undefined}>
        Blocks
      </a>
    </nav>
  );
}
