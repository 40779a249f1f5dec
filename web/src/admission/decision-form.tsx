import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, failureFrom, unwrap } from '../api/client.js';
import type { AdmissionItemDetails } from '../api/types.js';
import { useSession } from '../session/session.js';
import { DangerButton, useAction } from '../ui/action.js';
import { pluralize } from '../ui/format.js';
import { Refusal } from '../ui/refusal.js';
import { isSamePerson } from './items.js';

const MAX_COMMENT = 2_000;

/** Messages for an item that has changed since the person saw it; the page then reloads it. */
const OVERTAKEN = new Map(
  Object.entries({
    digest_mismatch:
      'This changed while you were reading, so nothing was decided. Read it again below before you decide.',
    already_decided: 'Somebody else has decided this in the meantime.',
    already_approved: 'You have already approved this.',
  }),
);

type Decision = 'approve' | 'reject' | 'comment' | 'withdraw';

interface Props {
  readonly item: AdmissionItemDetails;
  readonly isDecidable: boolean;
  readonly reload: (why: string) => void;
}

/** Sends the digest that the reviewer saw, so the server refuses the decision if the item has changed since. */
export function DecisionForm({ item, isDecidable, reload }: Props): JSX.Element {
  const { me } = useSession();
  const { id, digest, status, publisher, approvals } = item;
  const [comment, setComment] = useState('');
  const text = comment.trim();
  const decide = async (decision: Decision) => {
    const body = { digest, comment: text };
    const params = { path: { id } };
    try {
      await unwrap(
        decision === 'comment'
          ? api.POST('/v1/admission/{id}/comment', { params, body })
          : api.POST(`/v1/admission/{id}/${decision}`, {
              params,
              body: text === '' ? { digest } : body,
            }),
      );
    } catch (thrown) {
      const failure = failureFrom(thrown);
      const why = OVERTAKEN.get(failure.code);
      if (why === undefined) throw failure;
      return reload(why);
    }
    setComment('');
    reload('');
  };
  const approve = useAction(() => decide('approve'));
  const reject = useAction(() => decide('reject'));
  const say = useAction(() => decide('comment'));
  const isPending = [approve, reject, say].some((action) => action.isPending);
  const failure = approve.failure ?? reject.failure ?? say.failure;
  if (status !== 'held') return <></>;
  const isMine = isSamePerson(publisher, me);
  const left = approvals.required - approvals.given - 1;
  return (
    <section class="decide">
      <h2>{isDecidable ? 'Decide' : 'Comment'}</h2>
      <p class="muted">{situationOf({ item, isDecidable, isMine, left, me })}</p>
      <div class="field">
        <label for="decision-comment">
          Comment <span class="muted">{isDecidable ? 'required to reject' : ''}</span>
        </label>
        <textarea
          id="decision-comment"
          rows={3}
          maxLength={MAX_COMMENT}
          value={comment}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </div>
      <p class="buttons below">
        {isDecidable && (
          <>
            <button type="button" class="primary" onClick={approve.run} disabled={isPending}>
              Approve
            </button>
            <button type="button" class="danger" onClick={reject.run} disabled={isPending || text === ''}>
              Reject
            </button>
          </>
        )}
        <button type="button" onClick={say.run} disabled={isPending || text === ''}>
          Comment
        </button>
        {isMine && (
          <DangerButton label="Withdraw" question="Withdraw this?" act={() => decide('withdraw')}>
            It stops waiting for review. You can publish it again.
          </DangerButton>
        )}
      </p>
      {failure && <Refusal failure={failure} />}
    </section>
  );
}

interface Situation extends Omit<Props, 'reload'> {
  readonly isMine: boolean;
  /** The number of approvals still missing after this one. */
  readonly left: number;
  readonly me: ReturnType<typeof useSession>['me'];
}

function situationOf({ item, isDecidable, isMine, left, me }: Situation): string {
  const what = item.change ? 'change' : 'version';
  if (isDecidable && item.reasons.some(({ policy }) => policy === 'block'))
    return `This ${what} is blocked: it stays out until the block is lifted, even if you approve it.`;
  if (isDecidable)
    return left > 0
      ? `${pluralize(left, 'more approval is', 'more approvals are')} needed after yours. Rejecting is final for this ${what}.`
      : `If you approve, it takes effect immediately. Rejecting is final for this ${what}.`;
  if (isMine) return `You published this ${what}, so somebody else must decide.`;
  const hasApproved = item.decisions.some(
    ({ decision, by }) => decision === 'approve' && isSamePerson(by, me),
  );
  if (hasApproved) return `You have approved this ${what}. It needs ${pluralize(left + 1, 'more approval')}.`;
  return `You can see this ${what}, but others decide.`;
}
