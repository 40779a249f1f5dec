import { Component, type ComponentChildren, type JSX } from 'preact';
import { Empty } from '../ui/empty.js';

interface Props {
  /** Where somebody is: elsewhere, the page may well work. */
  readonly place: string;
  readonly children: ComponentChildren;
}

/** A mistake in the page itself leaves a way out, and never an empty window. */
export class Unbroken extends Component<Props, { isBroken: boolean }> {
  override state = { isBroken: false };

  static override getDerivedStateFromError(): { isBroken: boolean } {
    return { isBroken: true };
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.isBroken && before.place !== this.props.place) this.setState({ isBroken: false });
  }

  override render(): JSX.Element {
    if (!this.state.isBroken) return <>{this.props.children}</>;
    return (
      <Empty title="This page has failed">
        <p>It could not show what the server has answered. The other pages still work.</p>
        <p>
          <button type="button" onClick={() => this.setState({ isBroken: false })}>
            Try again
          </button>
        </p>
      </Empty>
    );
  }
}
