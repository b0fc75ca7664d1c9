import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Service } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Digest, KernelError, MissingRequirement, ObjectKey, Program } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'

/** Where a mode raises and clears its conditions, which the health answers show. */
export type ConditionSink = Pick<Conditions, 'raise' | 'clear'>

/** Raises and clears the conditions that only one mode has. It is called again after every change. */
export interface ModeReview<C = unknown> {
  /** Services or the configuration changed. */
  services(conditions: ConditionSink, facts: ReviewFacts<C>): void
  /** Whether the configuration caused this error, rather than a Service. */
  isConfigured(error: KernelError): boolean
  /** Gets the messages of all present errors for which `isConfigured` is true. */
  configuredErrors(conditions: ConditionSink, messages: readonly string[]): void
}

/** A read-only view of a mode: what it wants, and what the kernel holds. */
export interface ModeView {
  readonly program: Program
  /**
   * Whether the object exists in the node-proxy process and not in the kernel: a relay, or a route of the forwarder.
   * `observe` does not report those of another process.
   */
  isInProcess(key: ObjectKey): boolean
  /** Why `mode: auto` takes another mode, as far as that can be read. */
  readonly caveats: readonly MissingRequirement[]
  /** Local ports of a running node-proxy to which rules translate. Flows that were translated to them are kept. */
  readonly ownPorts: ReadonlySet<number>
  /** Whether objects of the mode may stay in the kernel for their connections after another mode has taken over. */
  readonly drains: boolean
  /** Digests of all objects of the mode in the kernel, including those of earlier runs. */
  observe(): Promise<ReadonlyMap<ObjectKey, Digest>>
  /**
   * The wanted content of the object as lines of text in the mode's own notation; empty if the object has no content.
   */
  wantedLines(key: ObjectKey): readonly string[]
  /** The same for the content that the kernel holds; undefined if it is not known. */
  heldLines(key: ObjectKey): Promise<readonly string[] | undefined>
  /** Closes what was opened for it. */
  close(): Promise<void>
}

/** What conditions of a mode are computed from. */
interface ReviewFacts<C = unknown> {
  readonly config: NetfilterConfiguration & { readonly proxyName: string } & C
  /** Whether this mode forwards; conditions of the other modes are cleared. */
  readonly isAtWork: boolean
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}
